import type { Delegation } from './content-lines.js';

/** A delegation and how deep it is nested. */
export interface TreeEntry {
  id: string;
  content: Delegation;
  depth: number;
}

/** A turn's delegations. One is nested in the newest one to the agent that delegates. */
export interface DelegationTree {
  /** Adds or updates a delegation. */
  update(id: string, content: Delegation): TreeEntry;
  has(id: string): boolean;
  remove(id: string): void;
  /** Each delegation before the ones nested in it. */
  entries(): TreeEntry[];
  readonly isRunning: boolean;
  clear(): void;
}

interface Node extends TreeEntry {
  parent: string | undefined;
}

export function createDelegationTree(): DelegationTree {
  const nodes = new Map<string, Node>();

  const parentOf = ({ from }: Delegation): Node | undefined =>
    [...nodes.values()].findLast(({ content: { to } }) => !!to && to.id === from?.id);

  const below = (parent: string | undefined): TreeEntry[] =>
    [...nodes.values()]
      .filter((node) => node.parent === parent || (parent === undefined && !nodes.has(node.parent ?? '')))
      .flatMap((node) => [node, ...below(node.id)]);

  return {
    update(id, content) {
      const known = nodes.get(id);
      const parent = known === undefined ? parentOf(content) : nodes.get(known.parent ?? '');
      const depth = known?.depth ?? (parent === undefined ? 0 : parent.depth + 1);
      const node = { id, content, depth, parent: known?.parent ?? parent?.id };
      nodes.set(id, node);
      return node;
    },
    has: (id) => nodes.has(id),
    remove: (id) => void nodes.delete(id),
    entries: () => below(undefined),
    get isRunning() {
      return [...nodes.values()].some(({ content }) => content.status === 'running');
    },
    clear: () => nodes.clear(),
  };
}
