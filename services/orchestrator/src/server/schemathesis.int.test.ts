import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findRoute, GATEWAY_ROUTES, type OperationId, ROUTES } from '@uswarm/contract';
import { cacheFolder } from '@uswarm/dev-servers';
import { describeWith, runSchemathesis } from '@uswarm/testkit';
import { byTier } from '@uswarm/testkit/tier';
import { z } from 'zod';
import { readDocument } from '../../test/api-document.js';
import { type UserResources, createUserResources } from '../../test/resource-fixtures.js';
import { type ProviderServers, startProviderServers } from '../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/** The seed determines the requests, so a failure can be reproduced with its seed. */
const SEED = process.env['USWARM_FUZZ_SEED'] ?? '20261121';
/** Generated requests per operation, beside the examples and the boundary values; `npm test -- --all` sends more. */
const GENERATED = process.env['USWARM_FUZZ_EXAMPLES'] ?? byTier({ core: '2', all: '25' });
const RUN_MS = 600_000;

/** Checks for server errors and undocumented responses. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
].join(',');

/**
 * Other operations fail after these. Each group is tested with a separate user; operations in one group do not affect
 * each other. A run takes seconds to start, so groups are as large as possible.
 */
const DESTRUCTIVE_GROUPS: OperationId[][] = [
  ['logout'],
  ['logoutEverywhere'],
  ['deleteAccount'],
  ['deleteWorkspace'],
  ['deleteConversation'],
  ['deleteAgentMemory', 'stopMessage', 'disconnectIntegration', 'disconnectToolServer'],
];
const DESTRUCTIVE = DESTRUCTIVE_GROUPS.flat();

const Har = z.object({
  log: z.object({
    entries: z.array(
      z.object({
        request: z.object({ method: z.string(), url: z.string() }),
        response: z.object({ status: z.number() }),
      }),
    ),
  }),
});

describeWith('schemathesis', 'schemathesis, authenticated and seeded', () => {
  let folder: string;
  let server: ProviderServers;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-fuzz-'));
    server = await startProviderServers();
    uswarm = await startTestOrchestrator({ environment: server.environment });
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  /** The served document with the user's ids instead of the example ids. */
  async function seededDocument({ values }: UserResources): Promise<string> {
    const document = await readDocument(uswarm.url);
    for (const { path } of GATEWAY_ROUTES) delete document.paths[path];
    let text = JSON.stringify(document, withErrorCodes);
    for (const [example, real] of Object.entries(values)) text = text.replaceAll(example, real);
    const file = join(folder, 'openapi.json');
    await writeFile(file, text);
    return file;
  }

  /** Adds a response's error codes as a schema. The served document omits it for the sake of client generators. */
  function withErrorCodes(_key: string, node: unknown): unknown {
    const codes = (node as { 'x-error-codes'?: string[] } | null)?.['x-error-codes'];
    if (codes === undefined) return node;
    const schema = {
      allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { code: { enum: codes } } }],
    };
    return { ...(node as object), content: { 'application/json': { schema } } };
  }

  /** @returns the operations that succeeded at least once */
  async function fuzz(owner: UserResources, options: readonly string[]): Promise<Set<string>> {
    const har = join(folder, 'seen.har');
    const { code, output } = await runSchemathesis({
      directory: join(cacheFolder(), 'schemathesis'),
      arguments: [
        await seededDocument(owner),
        '--url',
        uswarm.url,
        '--checks',
        CHECKS,
        '--seed',
        SEED,
        '--header',
        `X-Token:${owner.user.token}`,
        '--report',
        'har',
        '--report-har-path',
        har,
        '--request-timeout',
        '20',
        '--no-color',
        ...options,
      ],
      timeoutMs: RUN_MS,
    });
    if (code !== 0) throw new Error(output);
    const { entries } = Har.parse(JSON.parse(await readFile(har, 'utf8'))).log;
    expect(entries.length).toBeGreaterThan(0);
    const succeeded = entries.filter(({ response: { status } }) => status >= 200 && status < 300);
    // schemathesis also sends undocumented methods; express's response to OPTIONS is not an operation.
    const found = succeeded.map(({ request: { method, url } }) => findRoute(method, new URL(url).pathname));
    return new Set(found.flatMap((route) => (route === undefined ? [] : [route.operationId])));
  }

  it(
    'finds no server error and no undocumented response, and every operation succeeds',
    async () => {
      const excluded = DESTRUCTIVE.flatMap((operationId) => ['--exclude-operation-id', operationId]);
      const phases = ['--phases', 'examples,coverage,fuzzing', '--max-examples', GENERATED];
      const succeeded = await fuzz(await createUserResources(uswarm, server), [...excluded, ...phases]);
      const expected = ROUTES.map(({ operationId }) => operationId).filter((id) => !DESTRUCTIVE.includes(id));
      expect(expected.filter((operationId) => !succeeded.has(operationId))).toEqual([]);
    },
    RUN_MS + 60_000,
  );

  it.each(DESTRUCTIVE_GROUPS.map((group) => ({ group, names: group.join(', ') })))(
    'each of these operations succeeds: $names',
    async ({ group }) => {
      const owner = await createUserResources(uswarm, server);
      const included = group.flatMap((operationId) => ['--include-operation-id', operationId]);
      // An operation without parameters and body has no examples.
      const phase = group.some((operationId) => operationId.startsWith('logout')) ? 'coverage' : 'examples';
      const succeeded = await fuzz(owner, [...included, '--phases', phase]);
      expect(succeeded).toEqual(new Set(group));
    },
    RUN_MS,
  );
});
