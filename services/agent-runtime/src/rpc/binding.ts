import { Code, ConnectError } from '@connectrpc/connect';

export interface BindingDeps {
  /** Empty: not bound yet. */
  workspaceId: string;
  /** Called once, when a call binds the runtime. */
  onBound: (workspaceId: string) => void;
}

/** The workspace that the runtime serves. Once there is one, it never changes. */
export interface Binding {
  /** Undefined until the runtime is bound. */
  workspaceId(): string | undefined;
  /** @throws ConnectError FAILED_PRECONDITION for another workspace than before, INVALID_ARGUMENT without one */
  bind(workspaceId: string): void;
}

export function createBinding({ workspaceId, onBound }: BindingDeps): Binding {
  let bound = workspaceId === '' ? undefined : workspaceId;
  return {
    workspaceId: () => bound,
    bind(next) {
      if (next === '') throw new ConnectError('a workspace is required', Code.InvalidArgument);
      if (bound !== undefined && bound !== next)
        throw new ConnectError('the runtime serves another workspace', Code.FailedPrecondition);
      if (bound !== undefined) return;
      bound = next;
      onBound(next);
    },
  };
}
