import { type Delegation, delegationLine, stepLines, type Workflow, workflowLine } from './content-lines.js';
import { createDelegationTree } from './delegation-tree.js';
import type { Screen } from './screen.js';

/** Shows delegations and workflows while they run. */
export interface Progress {
  delegation(messageId: string, content: Delegation): void;
  workflow(messageId: string, content: Workflow): void;
  remove(messageId: string): void;
  /** Later delegations are not nested in ended ones. */
  forgetEnded(): void;
  /** Ended delegations, by message id. */
  ended(): string[];
  /** Continues after an earlier chat, which has shown these to their end. */
  resume(endedIds: readonly string[]): void;
  /** True if a running delegation shows what an agent does. */
  shows(agentId: string): boolean;
  /** Prints the current state as lines that stay. */
  settle(): void;
}

/**
 * With `inPlace`, the last terminal lines are replaced, and stay when everything has ended. Otherwise each change is a
 * line.
 */
export function createProgress(screen: Screen, inPlace: () => boolean): Progress {
  const tree = createDelegationTree();
  const workflows = new Map<string, Workflow>();
  /** The last printed line of each delegation. */
  const printed = new Map<string, string>();
  const ended = new Set<string>();

  const treeLines = (): string[] => tree.entries().map(({ content, depth }) => delegationLine(content, depth));
  const linesOf = (workflow: Workflow): string[] => [workflowLine(workflow), ...stepLines(workflow)];
  const running = (): Workflow[] => [...workflows.values()].filter(({ status }) => status === 'running');
  const draw = (): void => screen.region(inPlace() ? [...treeLines(), ...running().flatMap(linesOf)] : []);

  function print(lines: readonly string[]): void {
    for (const line of lines) screen.line(line, line.includes('✗') ? 'red' : 'dim');
  }

  /** Prints the lines that differ from the previous state. */
  function printChanges(before: Workflow | undefined, after: Workflow): void {
    const known = before === undefined ? [] : linesOf(before);
    const [heading = '', ...steps] = linesOf(after);
    const changed = steps.filter((line) => !known.includes(line));
    print(known.includes(heading) ? changed : before === undefined ? [heading, ...changed] : [...changed, heading]);
  }

  function printTree(): void {
    for (const { id, content, depth } of tree.entries()) {
      const line = delegationLine(content, depth);
      if (printed.get(id) !== line) print([line]);
      printed.set(id, line);
    }
  }

  function forgetEnded(): void {
    if (tree.isRunning) return;
    tree.clear();
    printed.clear();
  }

  return {
    delegation(id, content) {
      // Listed again after missed events.
      if (ended.has(id)) return;
      const hasRun = tree.has(id);
      if (content.status !== 'running') ended.add(id);
      tree.update(id, content);
      if (!inPlace()) printTree();
      else if (!tree.isRunning) {
        const lines = treeLines();
        screen.region([]);
        print(lines);
      }
      // Earlier ones are listed parents first.
      if (hasRun) forgetEnded();
      draw();
    },
    workflow(id, content) {
      const before = workflows.get(id);
      // An earlier chat has shown it to its end.
      if (before === undefined && ended.has(id)) return;
      if (content.status !== 'running') ended.add(id);
      workflows.set(id, content);
      if (!inPlace()) printChanges(before, content);
      else if (content.status !== 'running' && JSON.stringify(before) !== JSON.stringify(content)) {
        screen.region([]);
        print(linesOf(content));
      }
      draw();
    },
    forgetEnded,
    remove(id) {
      tree.remove(id);
      workflows.delete(id);
      draw();
    },
    ended: () => [...ended],
    resume(endedIds) {
      for (const id of endedIds) ended.add(id);
    },
    shows: (agentId) =>
      tree.entries().some(({ content }) => content.status === 'running' && content.to?.id === agentId),
    settle() {
      screen.region([]);
      if (inPlace()) print([...treeLines(), ...running().flatMap(linesOf)]);
      for (const { id, content, depth } of tree.entries()) printed.set(id, delegationLine(content, depth));
    },
  };
}
