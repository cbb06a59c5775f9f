import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { GatewayConfig } from '@uswarm/realtime-gateway/config';
import { loadControllerConfig } from '@uswarm/controller/config';
import { readConfig } from '@uswarm/orchestrator/config';
import { loadConfig } from '@uswarm/service-kit';
import { parse } from 'yaml';
import { environment, FULL } from './support/environment.js';
import { CHART, render } from './support/rendering.js';
import { merge, pathsOf, resolve, type Schema } from './support/value-paths.js';

const READERS = {
  controller: loadControllerConfig,
  orchestrator: readConfig,
  'realtime-gateway': (env: Record<string, string>) => loadConfig(GatewayConfig, env),
};

/** Values whose 0 disables something: the variable that a service reads, and the test that proves the meaning of its 0. */
const ZEROS: [
  path: string,
  service: keyof typeof READERS,
  variable: string,
  provenBy: [file: string, title: string],
][] = [
  [
    'http.hstsMaxAgeSeconds',
    'orchestrator',
    'HSTS_MAX_AGE_S',
    ['services/orchestrator/src/server/conventions.int.test.ts', 'only if HSTS_MAX_AGE_S is set'],
  ],
  ...(
    [
      ['address', 'IP'],
      ['user', 'USER'],
      ['sends', 'SENDS'],
      ['search', 'SEARCH'],
      ['triggers', 'TRIGGERS'],
    ] as const
  ).map(([name, variable]): (typeof ZEROS)[number] => [
    `orchestrator.rateLimits.${name}.perSecond`,
    'orchestrator',
    `RATE_${variable}_PER_S`,
    ['services/orchestrator/src/platform/rate-limits/policies.test.ts', 'are disabled at 0 requests per second'],
  ]),
  [
    'gateway.sockets.perUser',
    'realtime-gateway',
    'SOCKETS_PER_USER',
    ['services/realtime-gateway/src/features/connection/zero-limits.test.ts', 'closes no socket of a user'],
  ],
  [
    'gateway.sockets.eventsPerSecond',
    'realtime-gateway',
    'SOCKET_EVENTS_PER_S',
    ['services/realtime-gateway/src/features/connection/token-bucket.test.ts', 'allows everything at a rate of 0'],
  ],
  [
    'gateway.sockets.unauthenticatedPerAddress',
    'realtime-gateway',
    'UNAUTHENTICATED_PER_ADDRESS',
    ['services/realtime-gateway/src/features/connection/zero-limits.test.ts', 'refuses no address'],
  ],
  [
    'gateway.shutdownSocketsPerSecond',
    'realtime-gateway',
    'SHUTDOWN_SOCKETS_PER_S',
    ['services/realtime-gateway/src/features/connection/drain-connections.test.ts', 'perSecond: 0'],
  ],
  [
    'rollout.deadlineSeconds',
    'controller',
    'ROLLOUT_DEADLINE_S',
    ['services/uswarm-controller/src/rollout/plan.test.ts', 'never replaces a busy runtime without a deadline'],
  ],
  [
    'start.maxConcurrent',
    'controller',
    'START_MAX_CONCURRENT',
    ['services/uswarm-controller/src/starts/start-admission.test.ts', 'admits all runtimes without a limit'],
  ],
  [
    'runtime.idleSuspendAfterSeconds',
    'orchestrator',
    'IDLE_SUSPEND_AFTER_S',
    ['services/orchestrator/src/records/runtime-state.test.ts', 'is never due without an idle limit'],
  ],
];

const withZero = (path: string): object =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), 0) as object;

/** Descriptions for a value and the maps that contain it. */
function descriptionsOf(schema: Schema, path: string): string[] {
  const found: string[] = [];
  let at = resolve(schema, schema);
  for (const key of path.split('.')) {
    const next = at.properties?.[key];
    if (next === undefined) return found;
    at = resolve(schema, next);
    found.push(at.description ?? '');
  }
  return found;
}

it('lists every value whose description gives 0 a meaning, except for ports that Kubernetes chooses', async () => {
  const schema = JSON.parse(await readFile(`${CHART}/values.schema.json`, 'utf8')) as Schema;
  const paths = pathsOf(parse(await readFile(`${CHART}/values.yaml`, 'utf8')) as object);
  const documented = paths.filter((path) => {
    const [own = '', ...above] = descriptionsOf(schema, path).toReversed();
    return (
      /\b0 disables|\b0 disconnects/.test(own) ||
      (path.endsWith('.perSecond') && above.some((text) => text.includes('0 disables')))
    );
  });
  expect(documented.toSorted()).toEqual(ZEROS.map(([path]) => path).toSorted());
});

it.each(ZEROS)(
  '%s: the service accepts 0, and a test proves what it means',
  async (path, service, variable, [file, title]) => {
    const manifests = await render(merge(FULL, withZero(path)));
    const config = READERS[service](environment(manifests, service)) as Record<string, unknown>;
    expect({ [variable]: config[variable] }).toEqual({ [variable]: 0 });
    expect(await readFile(`${CHART}/../../${file}`, 'utf8')).toContain(title);
  },
);
