/* Optimizers: rules that append update nodes to a graph, one call per weight. Each is one file and
 * one line in optims.def. */
#ifndef MINIPOD_RUNTIME_OPTIM_OPTIM_H
#define MINIPOD_RUNTIME_OPTIM_OPTIM_H

#include "runtime/config/config.h"
#include "runtime/graph/graph.h"

enum { POD_SPARES_DECAY = 1 << 0, POD_SPARES_TRUST = 1 << 1 };

typedef struct pod_hparams {
    float momentum;
    bool nesterov;
    float weight_decay; /* skips normalizations and, except in rmsprop, biases */
    float trust;        /* LARS's eta */
    float beta1, beta2; /* LAMB, AdamW */
    bool uncorrected;   /* LAMB, AdamW: moments are not divided by 1 - beta^t */
    unsigned spares;    /* LAMB, AdamW: POD_SPARES_ of normalizations and biases */
    float clip_norm;    /* largest norm of all gradients together; 0: any */
    /* Clips each core's gradients, of the mean loss over its samples, before they are summed. */
    bool clip_local;
    float rho;     /* RMSProp: decay of the mean square */
    float epsilon; /* in the denominator of LARS's ratio and of LAMB's, AdamW's and RMSProp's
                           step */
} pod_hparams;

/* Appends the update of w by its gradient. `state` holds n_states variables of w's shape; the first
 * n_ones start at one, the others at zero; lr and step (a float32 that counts from 1) are scalar
 * inputs. Weight decay and trust ratio skip roles NORM and BIAS, except that rmsprop decays biases,
 * and that LAMB and AdamW skip what `spares` says. */
typedef void pod_optim_update_fn(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                                 const pod_value state[], pod_value lr, pod_value step,
                                 const pod_hparams *hp);

enum {                              /* traits */
       POD_OPTIM_NESTEROV = 1 << 0, /* has a Nesterov form */
       POD_OPTIM_ROOTS = 1 << 1     /* divides by roots, which are 0 if all gradients were: needs
                                       epsilon > 0 */
};

enum { POD_OPTIM_MAX_DEFAULTS = 9 };

typedef struct pod_optim_default {
    pod_opt option;
    const char *value; /* NULL after the last one */
} pod_optim_default;

typedef struct pod_optim {
    const char *name;    /* "lars" */
    const char *formula; /* one line, for --help-all and explain */
    const char *source;  /* source of the formula */
    int n_states, n_ones;
    unsigned traits; /* POD_OPTIM_ */
    pod_optim_update_fn *update;
    pod_optim_default own[POD_OPTIM_MAX_DEFAULTS]; /* of the hyper-parameters that it reads */
} pod_optim;

const pod_optim *pod_optims(int *n);
const pod_optim *pod_optim_find(const char *name); /* NULL: there is none */

/* Returns the default of an option: from options.def, or from the optimizer that c names; "" if
 * there is none. */
const char *pod_optim_default_of(const pod_config *c, pod_opt o);
/* Returns an option as it was set, else its default. Lives as long as c. */
const char *pod_optim_value(const pod_config *c, pod_opt o);
double pod_optim_number(const pod_config *c, pod_opt o); /* 0 for "" */

/* Prints the optimizers with the defaults of their hyper-parameters, for --help-all. */
void pod_optim_help(FILE *to);

#endif
