import fc from 'fast-check';

/** Failures, and the user's actions, at a point in a run. */
export const FAULTS = [
  'kill the orchestrator',
  'kill the runtime',
  'kill both',
  'hang the orchestrator',
  'wake the hanging orchestrator',
  'break the database connection',
  'break the runtime connection',
  'hang the runtime',
  'approve',
  'deny',
  'approve and deny',
  'write',
  'expire',
  'stop',
] as const;
export type Fault = (typeof FAULTS)[number];

/** `after`: points since the previous fault. A point is before and after each call that leaves a process. */
export interface ScheduledFault {
  after: number;
  fault: Fault;
}

/** The fate of a request to the other system. */
export const DELIVERIES = ['executed', 'refused', 'request lost', 'answer lost'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** The user's reaction to a waiting turn's cards. */
export const CHOICES = ['approve', 'deny', 'approve and deny', 'write', 'expire'] as const;
export type Choice = (typeof CHOICES)[number];

export type RequestedTool = 'save' | 'create' | 'send';
/** The runtime itself calls the tool `search`. */
export type ToolName = RequestedTool | 'search';

/** Every simulated runtime has these features. */
const FEATURES = ['journal.1', 'tools.1', 'budget.1'];
const LATER_FEATURES = ['journal.2', 'tool-grants.1'];
const ALL_FEATURES = [...FEATURES, ...LATER_FEATURES];

export interface Schedule {
  /** The first runtime's features, and its replacements' features. */
  features: readonly [readonly string[], readonly string[]];
  steps: ToolName[][];
  /** True if each call needs an approval. */
  asks: boolean;
  /** True if the other system finds a request that it executed. */
  finds: boolean;
  faults: ScheduledFault[];
  /** For the first requests; later ones are executed. */
  deliveries: Delivery[];
  /** For the first pauses; later ones end with an approval. */
  choices: Choice[];
}

/** Calls that need approvals, in runtimes of this release, without a fault. */
export const APPROVED: Omit<Schedule, 'steps'> = {
  features: [ALL_FEATURES, ALL_FEATURES],
  asks: true,
  finds: true,
  faults: [],
  deliveries: [],
  choices: [],
};

const step = fc.array(fc.constantFrom<ToolName>('save', 'create', 'send', 'search'), { minLength: 1, maxLength: 2 });
const features = fc.subarray(LATER_FEATURES).map((later) => [...FEATURES, ...later]);

export const schedules: fc.Arbitrary<Schedule> = fc.record({
  features: fc.tuple(features, features),
  steps: fc.array(step, { minLength: 1, maxLength: 2 }),
  asks: fc.boolean(),
  finds: fc.boolean(),
  faults: fc.array(fc.record({ after: fc.nat({ max: 40 }), fault: fc.constantFrom(...FAULTS) }), { maxLength: 5 }),
  deliveries: fc.array(fc.constantFrom(...DELIVERIES), { maxLength: 3 }),
  choices: fc.array(fc.constantFrom(...CHOICES), { maxLength: 3 }),
});
