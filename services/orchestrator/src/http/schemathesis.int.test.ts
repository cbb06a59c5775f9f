import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findRoute, type OperationId, ROUTES } from '@uswarm/contract';
import { describeWith, type OAuthServer, runSchemathesis } from '@uswarm/testkit';
import { z } from 'zod';
import { readDocument } from '../../test/api-document.js';
import { type Belongings, ownEverything } from '../../test/belongings.js';
import { integrationEnvironment, startProviderServer } from '../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

const cache = process.env['USWARM_TEST_CACHE'] ?? join(import.meta.dirname, '../../../../.cache');
/** Another one makes other requests; what fails can be repeated with the one that it failed with. */
const SEED = process.env['USWARM_FUZZ_SEED'] ?? '20261121';
const RUN_MS = 240_000;

/** What every answer has to be: none of our faults, and as documented. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
].join(',');

/** After them nothing else would succeed: each has a user of its own. */
const LAST_ONES: OperationId[] = [
  'logout',
  'logoutEverywhere',
  'deleteAccount',
  'deleteWorkspace',
  'deleteConversation',
  'deleteAgentMemory',
  'stopMessage',
  'disconnectIntegration',
];

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
  let server: OAuthServer;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-fuzz-'));
    server = await startProviderServer();
    uswarm = await startTestOrchestrator({ environment: integrationEnvironment(server) });
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  /** The document as it is served, with what belongs to the user in the place of what its examples name. */
  async function seededDocument({ values }: Belongings): Promise<string> {
    let text = JSON.stringify(await readDocument(uswarm.url), withErrorCodes);
    for (const [example, real] of Object.entries(values)) text = text.replaceAll(example, real);
    const file = join(folder, 'openapi.json');
    await writeFile(file, text);
    return file;
  }

  /** States the codes of a response as a schema, which the document does not do for the sake of client generators. */
  function withErrorCodes(_key: string, node: unknown): unknown {
    const codes = (node as { 'x-error-codes'?: string[] } | null)?.['x-error-codes'];
    if (codes === undefined) return node;
    const schema = {
      allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { code: { enum: codes } } }],
    };
    return { ...(node as object), content: { 'application/json': { schema } } };
  }

  /** @returns the operations that answered with success */
  async function fuzz(owner: Belongings, options: readonly string[]): Promise<Set<string>> {
    const har = join(folder, 'seen.har');
    const { code, output } = await runSchemathesis({
      directory: join(cache, 'schemathesis'),
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
    // Methods that are none of the document are tried, too; what express answers to OPTIONS is no operation.
    const found = succeeded.map(({ request: { method, url } }) => findRoute(method, new URL(url).pathname));
    return new Set(found.flatMap((route) => (route === undefined ? [] : [route.operationId])));
  }

  it(
    'finds no fault and nothing undocumented, and has every operation succeed',
    async () => {
      const excluded = LAST_ONES.flatMap((operationId) => ['--exclude-operation-id', operationId]);
      const phases = ['--phases', 'examples,coverage,fuzzing', '--max-examples', '10'];
      const succeeded = await fuzz(await ownEverything(uswarm, server), [...excluded, ...phases]);
      const expected = ROUTES.map(({ operationId }) => operationId).filter((id) => !LAST_ONES.includes(id));
      expect(expected.filter((operationId) => !succeeded.has(operationId))).toEqual([]);
    },
    RUN_MS + 60_000,
  );

  it.each(LAST_ONES)(
    '%s succeeds as well',
    async (operationId) => {
      const owner = await ownEverything(uswarm, server);
      // Without parameters and a body there is nothing that an example could name.
      const phase = operationId.startsWith('logout') ? 'coverage' : 'examples';
      const succeeded = await fuzz(owner, ['--include-operation-id', operationId, '--phases', phase]);
      expect([...succeeded]).toEqual([operationId]);
    },
    RUN_MS,
  );
});
