export interface PlannedStep {
  id: string;
  name: string;
  /** A slug. */
  agent: string;
  task: string;
  /** Step ids. */
  after: readonly string[];
}

const quoted = (names: readonly string[]): string => names.map((name) => `“${name}”`).join(', ');

const firstDuplicate = (names: readonly string[]): string | undefined =>
  names.find((name, index) => names.indexOf(name) !== index);

/** @returns a cycle's steps in order, each of which waits for the next one; undefined without a cycle */
function cycleOf(steps: readonly PlannedStep[]): string[] | undefined {
  // A step that waits only for steps without a cycle is not part of one.
  let left = steps;
  for (;;) {
    const ids = new Set(left.map(({ id }) => id));
    const rest = left.filter(({ after }) => after.some((id) => ids.has(id)));
    if (rest.length === left.length) break;
    left = rest;
  }
  const [first] = left;
  if (first === undefined) return undefined;
  // Every remaining step waits for a remaining one, so following them arrives at a step twice.
  const path: string[] = [];
  let current = first;
  while (!path.includes(current.id)) {
    path.push(current.id);
    current = left.find(({ id }) => current.after.includes(id)) ?? current;
  }
  return [...path.slice(path.indexOf(current.id)), current.id];
}

/**
 * Checks what a schema cannot check. Pure.
 *
 * @param agents slugs in the workspace
 * @returns what the model must change; undefined if the plan can be executed
 */
export function planProblem(steps: readonly PlannedStep[], agents: readonly string[]): string | undefined {
  const ids = steps.map(({ id }) => id);
  const duplicate = firstDuplicate(ids);
  if (duplicate !== undefined) return `Two steps have the id “${duplicate}”. Give each step its own id.`;
  for (const { id, agent, after } of steps) {
    if (!agents.includes(agent)) return `Step “${id}”: there is no agent “${agent}”. The agents are ${quoted(agents)}.`;
    const unknown = after.find((other) => !ids.includes(other));
    if (unknown !== undefined)
      return `Step “${id}”: “after” names “${unknown}”, which is not a step. The steps are ${quoted(ids)}.`;
    const repeated = firstDuplicate(after);
    if (repeated !== undefined) return `Step “${id}”: “after” names “${repeated}” twice.`;
  }
  const cycle = cycleOf(steps);
  if (cycle === undefined) return undefined;
  return `Steps wait for each other: ${cycle.map((id) => `“${id}”`).join(' after ')}. Remove one of these from “after”.`;
}
