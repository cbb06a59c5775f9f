import fc from 'fast-check';

/** A client, by its index. */
export const CLIENTS = 3;

/** A schedule step. Faults end by themselves after `seconds`, while later steps run. */
export type Step =
  | { do: 'send'; client: number; retry: boolean; overRest?: boolean }
  | { do: 'read' | 'create conversation' | 'delete conversation' | 'stop the answer'; client: number }
  | { do: 'ask for a card' | 'create workspace' | 'delete workspace'; client: number }
  | { do: 'choose'; client: number; pick: number }
  | { do: 'go offline' | 'read slowly'; client: number; seconds: number }
  | { do: 'wait'; ms: number }
  | Fault;

/** A fault in the installation, not in a client. */
export type Fault =
  | { do: 'kill gateway' | 'kill orchestrator'; index: number; seconds: number }
  | { do: 'pause gateway' | 'pause orchestrator'; index: number; seconds: number }
  | { do: 'kill relay' | 'pause relay'; seconds: number }
  | { do: 'kill runtimes' }
  | { do: 'pause runtimes'; seconds: number }
  | { do: 'restart Valkey' }
  | { do: 'restart Postgres'; how: 'kill' | 'shutdown' }
  /** The primary server is killed. The standby lacks what was committed in the last `lackMs`. */
  | { do: 'promote a standby'; lackMs: number }
  | { do: 'pause Valkey' | 'delay the bus' | 'freeze Postgres' | 'lose bus messages'; seconds: number }
  | { do: 'cut off gateway'; index: number; seconds: number }
  | { do: 'close connections to Postgres' };

export interface Schedule {
  /** True if the last gateway has the previous release, as during a roll-out. */
  previousGateway: boolean;
  steps: Step[];
}

/** What users do, and what happens to their devices. */
const USER_STEPS = new Set<Step['do']>([
  'send',
  'read',
  'create conversation',
  'delete conversation',
  'stop the answer',
  'ask for a card',
  'create workspace',
  'delete workspace',
  'choose',
  'go offline',
  'read slowly',
  'wait',
]);

export const isFault = (step: Step): step is Fault => !USER_STEPS.has(step.do);

const client = fc.nat({ max: CLIENTS - 1 });
const index = fc.nat({ max: 1 });

/** The time in seconds for which processes are stopped, and other faults last. */
export interface FaultSeconds {
  pause: { min: number; max: number };
  other: { min: number; max: number };
}

export function schedules(faults: FaultSeconds, maxLength: number): fc.Arbitrary<Schedule> {
  const seconds = fc.integer(faults.other);
  const pauseSeconds = fc.integer(faults.pause);
  const step = fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({ do: fc.constant('send'), client, retry: fc.boolean(), overRest: fc.boolean() }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom('read', 'create conversation', 'delete conversation', 'stop the answer', 'ask for a card'),
        client,
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('choose'), client, pick: index }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('create workspace', 'delete workspace'), client }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('go offline', 'read slowly'), client, seconds }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('kill gateway', 'kill orchestrator', 'cut off gateway'),
        index,
        seconds,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('pause gateway', 'pause orchestrator'),
        index,
        seconds: pauseSeconds,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('pause Valkey', 'pause runtimes', 'pause relay', 'freeze Postgres'),
        seconds: pauseSeconds,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constantFrom('delay the bus', 'lose bus messages', 'kill relay'), seconds }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('kill runtimes', 'restart Valkey', 'close connections to Postgres') }),
    },
    {
      weight: 1,
      arbitrary: fc.oneof(
        {
          weight: 2,
          arbitrary: fc.record({ do: fc.constant('restart Postgres'), how: fc.constantFrom('kill', 'shutdown') }),
        },
        {
          weight: 1,
          arbitrary: fc.record({ do: fc.constant('promote a standby'), lackMs: fc.integer({ min: 500, max: 1_500 }) }),
        },
      ),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.integer({ min: 50, max: 2_000 }) }) },
  );
  const steps = fc.array(step, { minLength: 5, maxLength }) as fc.Arbitrary<Step[]>;
  const previousGateway = fc.oneof(
    { weight: 6, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  );
  return fc.record({ previousGateway, steps });
}
