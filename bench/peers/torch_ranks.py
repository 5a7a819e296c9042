"""Processes of PyTorch that train one network together, for torch_bert.py and torch_translate.py: each has
one thread and a part of each batch, and gradients are summed over gloo. args has ranks, seed, precision
and json."""
import json
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def autocast(args):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16")


def summed(args, x):
    if args.ranks > 1:
        dist.all_reduce(x)
    return x


def share_weights(model, args):
    """Those of rank 0: the ranks draw different numbers, for dropout."""
    for w in model.parameters():
        if args.ranks > 1:
            dist.broadcast(w.data, 0)


def sum_gradients(model, args):
    if args.ranks == 1:
        return
    weights = list(model.parameters())
    flat = summed(args, torch.cat([w.grad.flatten() for w in weights]))
    for w, g in zip(weights, flat.split([w.numel() for w in weights])):
        w.grad.copy_(g.view_as(w))


def run_rank(rank, args, train, tell):
    torch.set_num_threads(1)
    torch.manual_seed(args.seed + 1000 * rank)
    if args.ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{args.meeting}", rank=rank,
                                world_size=args.ranks)
    result = train(rank, args)
    if rank == 0:
        how = "compiled" if args.compile else "eager"
        print(f"# PyTorch {torch.__version__}, clock wall, {args.model}, {result['parameters']} "
              f"parameters, {args.precision}, {args.ranks} rank(s), {how}, {result['steps']} steps")
        tell(args, result)
        if args.json:
            settings = {k: v for k, v in vars(args).items() if k not in ("json", "meeting")}
            with open(args.json, "w", encoding="utf-8") as f:
                json.dump({"schema": "minipod.peer_run", "peer": f"PyTorch {torch.__version__}",
                           **settings, **result}, f, indent=2)
    if args.ranks > 1:
        dist.destroy_process_group()


def run(args, train, tell):
    """train(rank, args) gives a dictionary with parameters and steps, of which rank 0 tells more."""
    args.meeting = f"/tmp/torch_ranks.{os.getpid()}"
    if args.ranks == 1:
        run_rank(0, args, train, tell)
        return
    try:
        mp.spawn(run_rank, args=(args, train, tell), nprocs=args.ranks)
    finally:
        if os.path.exists(args.meeting):
            os.remove(args.meeting)
