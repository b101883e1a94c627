"""A workload of formulas.py as a call of PyTorch's, on the CPU and on GPUs."""


def eager(torch, work, arrays):
    if not work.trained:
        return lambda: work.formula(torch, *arrays)
    for i in work.trained:
        arrays[i] = arrays[i].detach().requires_grad_(True)

    def step():
        loss = work.formula(torch, *arrays)
        gradients = torch.autograd.grad(loss, [arrays[i] for i in work.trained])
        with torch.no_grad():
            return work.stepped(arrays, loss, gradients)
    return step


def compiled(torch, work, arrays, mode=None):
    torch._dynamo.reset()

    def formula(*all_arrays):
        if not work.trained:
            return work.formula(torch, *all_arrays)
        trained = tuple(all_arrays[i] for i in work.trained)

        def loss_of(trained):
            changed = list(all_arrays)
            for i, array in zip(work.trained, trained):
                changed[i] = array
            return work.formula(torch, *changed)
        gradients, loss = torch.func.grad_and_value(loss_of)(trained)
        return work.stepped(all_arrays, loss, gradients)
    function = torch.compile(formula, dynamic=False, mode=mode)
    return lambda: function(*arrays)
