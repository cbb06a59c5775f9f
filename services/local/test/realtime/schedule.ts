import fc from 'fast-check';

/** A client, by its index. */
export const CLIENTS = 3;

/** A step of a schedule. Faults end by themselves after `seconds`, while later steps run. */
export type Step =
  | { do: 'send'; client: number; retry: boolean }
  | { do: 'read' | 'create conversation' | 'delete conversation' | 'stop the answer'; client: number }
  | { do: 'create workspace' | 'delete workspace'; client: number }
  | { do: 'go offline' | 'read slowly'; client: number; seconds: number }
  | { do: 'kill gateway' | 'kill orchestrator'; index: number; seconds: number }
  | { do: 'pause gateway' | 'pause orchestrator'; index: number; seconds: number }
  | { do: 'kill runtimes' }
  | { do: 'restart Valkey' }
  | { do: 'pause Valkey' | 'delay the bus' | 'freeze Postgres' | 'lose bus messages'; seconds: number }
  | { do: 'cut off gateway'; index: number; seconds: number }
  | { do: 'close connections to Postgres' }
  | { do: 'wait'; ms: number };

const client = fc.nat({ max: CLIENTS - 1 });
const index = fc.nat({ max: 1 });

/** @param longestS the longest fault, in seconds */
export function schedules(longestS: number, maxLength: number): fc.Arbitrary<Step[]> {
  const seconds = fc.integer({ min: 1, max: longestS });
  const step = fc.oneof(
    { weight: 10, arbitrary: fc.record({ do: fc.constant('send' as const), client, retry: fc.boolean() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('read', 'create conversation', 'delete conversation', 'stop the answer'),
        client,
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('create workspace', 'delete workspace'), client }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('go offline', 'read slowly'), client, seconds }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom(
          'kill gateway',
          'kill orchestrator',
          'pause gateway',
          'pause orchestrator',
          'cut off gateway',
        ),
        index,
        seconds,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('pause Valkey', 'delay the bus', 'freeze Postgres', 'lose bus messages'),
        seconds,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('kill runtimes', 'restart Valkey', 'close connections to Postgres') }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 50, max: 2_000 }) }) },
  );
  return fc.array(step, { minLength: 5, maxLength }) as fc.Arbitrary<Step[]>;
}
