import type { ServerEvent } from './turn.js';

/** How far a chat has applied the events of its workspace. */
export interface WorkspacePosition {
  apply(event: ServerEvent): void;
  /** For `since` of `workspace.subscribe`; undefined if the chat must load the workspace. */
  current(): string | number | undefined;
}

/** @param saved the position of an earlier chat */
export function createWorkspacePosition(workspaceId: string, saved: string | number | undefined): WorkspacePosition {
  let [epoch, seq] = parsed(saved);
  return {
    apply({ name, payload }) {
      if (name === 'workspace.subscribed') {
        epoch = payload.epoch?.[workspaceId] ?? epoch;
        // Otherwise the events after `since` follow.
        seq ??= payload.last_seq[workspaceId];
      } else if ('workspace_id' in payload && payload.workspace_id === workspaceId) {
        if (name === 'workspace.resync') [epoch, seq] = [undefined, undefined];
        else if ('seq' in payload) seq = Math.max(seq ?? 0, payload.seq);
      }
    },
    current: () => (epoch === undefined || seq === undefined ? seq : `${epoch}:${seq}`),
  };
}

function parsed(position: string | number | undefined): [epoch: string | undefined, seq: number | undefined] {
  if (typeof position !== 'string') return [undefined, position];
  const [epoch, seq] = position.split(':');
  return [epoch, Number(seq)];
}
