import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { type ModelServer, type ModelStep, startModelServer, words } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { byTier } from '@uswarm/testkit/tier';
import { callInParts } from '../test/call-in-parts.js';
import { leftBehind } from '../test/left-behind.js';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { startToolServer, type TestToolServer } from '../test/tool-server.js';
import { type UsageCheck, watchUsage } from '../test/usage-check.js';

const QUERY =
  'what the weather will be like tomorrow in the morning and in the evening, and whether it is going to rain';
const SEARCH = { name: 'web_search_tool', arguments: { query: QUERY } };
const UNKNOWN = 'It is not known whether the tool did it.';
const HOLD = 'the server is killed';

/** What is outside, and in the database, when a turn has ended. */
interface AtTheEnd {
  /** Requests to the model. */
  asked: number;
  searches: number;
  messages: unknown[];
  left: Record<string, unknown[]>;
}

const DONE = { type: 'text', text: 'Done.' };

/** The end without a fault: the model searches, and answers. */
const UNBROKEN: AtTheEnd = {
  asked: 2,
  searches: 1,
  messages: [{ type: 'tool_status', state: 'completed' }, DONE],
  left: {},
};

/** The end if the agent cannot answer, as a user sees it. */
const failed = (error: string, more: Partial<AtTheEnd>): AtTheEnd => ({
  asked: 1,
  searches: 0,
  messages: [{ type: 'text', text: expect.any(String), error }],
  left: {},
  ...more,
});

const WITH_GATEWAY = { how: 'with a model gateway', modelGateway: true };
const WITHOUT_GATEWAY = { how: 'without a model gateway', modelGateway: false };

describe.each(byTier({ core: [WITH_GATEWAY], all: [WITH_GATEWAY, WITHOUT_GATEWAY] }))(
  'a turn whose model calls a tool of a tool server, $how',
  ({ modelGateway }) => {
    let model: ModelServer;
    let tools: TestToolServer;
    /** Between runtimes, or the model gateway, and the model server. */
    let modelProxy: FaultInjectionProxy;
    /** Between runtimes and the tool server. */
    let toolProxy: FaultInjectionProxy;
    let services: SeparateServices;
    let client: TestClient;
    let usage: UsageCheck;
    let before: { asked: number; searches: number };
    /** The model server's reactions to the next requests. Without an entry, it answers. */
    let faults: (readonly ModelStep[])[] = [];
    /** Call results, as the model saw them. */
    let results: string[] = [];
    let holds = 0;

    beforeAll(async () => {
      tools = await startToolServer();
      model = await startModelServer({
        script({ messages }) {
          const fault = faults.shift();
          if (fault !== undefined) return fault;
          const last = messages.at(-1);
          if (last?.role !== 'tool') return [{ toolCalls: [SEARCH] }];
          results.push(JSON.stringify(last.content));
          return [{ text: 'Done.' }];
        },
      });
      modelProxy = await startFaultInjectionProxy(model.baseUrl);
      toolProxy = await startFaultInjectionProxy(tools.url);
      services = await startSeparateServices(
        {
          ...modelSettings({ baseUrl: modelProxy.redirect(model.baseUrl) }),
          ...tools.env,
          SVC_MCP_ENDPOINT: toolProxy.redirect(tools.url),
          SUMMARY_WORKERS: '0',
          USWARM_MODEL_TIMEOUT_MS: '4000',
          USWARM_MODEL_RETRY_MS: '5000',
        },
        { modelGateway },
      );
    });
    beforeEach(async () => {
      const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
      client = await startTestClient({ ...services, token });
      usage = watchUsage(model, services);
      before = { asked: model.requests.length, searches: tools.queries.length };
      results = [];
      faults = [];
      tools.lostAnswers = [];
      tools.replacement = undefined;
    });
    afterEach(() => client?.close());
    afterAll(async () => {
      await services?.close();
      await modelProxy?.close();
      await toolProxy?.close();
      await model?.close();
      await tools?.close();
    });

    /** Waits until the turn ends. */
    async function atTheEnd(): Promise<AtTheEnd> {
      await client.saw('message.done');
      const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
      const { data } = (await client.api('GET', path)).body as { data: MessageData[] };
      const messages = data
        .toReversed()
        .filter(({ role }) => role === 'agent')
        .map(({ content, error }) => ({
          type: content.type,
          ...(content.type === 'tool_status' && { state: content.state }),
          ...(content.type === 'text' && { text: content.text }),
          ...(error !== null && { error: error.code }),
        }));
      const broken = await usage.broken(client.workspaceId);
      return {
        asked: model.requests.length - before.asked,
        searches: tools.queries.length - before.searches,
        messages,
        left: { ...(await leftBehind(services, client.workspaceId)), ...(broken.length > 0 && { usage: broken }) },
      };
    }

    /** Tool names in the last request to the model. */
    const offered = () => model.requests.at(-1)?.body.tools?.map((tool) => tool.function.name);

    /** Sends a message, and waits until the model writes the call. @returns lets it end the call */
    async function writeCall(): Promise<() => void> {
      const hold = `${HOLD} ${(holds += 1)}`;
      const { begin, end } = callInParts(SEARCH);
      faults = [[begin, { hold }, ...end]];
      await client.send('What is the weather?');
      await model.reached(hold);
      return () => model.release(hold);
    }

    /** Steps before the fault. */
    const MOMENTS = {
      'before its response': [],
      'in a text': words('This is '),
      'in the arguments of the call': [callInParts(SEARCH).begin],
    } satisfies Record<string, ModelStep[]>;
    const moments = Object.entries(MOMENTS);

    it('is answered', async () => {
      await client.send('What is the weather?');
      expect(await atTheEnd()).toEqual(UNBROKEN);
    });

    describe.each(moments)('is answered after one repetition if the model server, %s,', (moment, begin) => {
      const repeated = { ...UNBROKEN, asked: 3 };

      it.each<[string, ModelStep]>([
        [
          'answers 503',
          begin.length === 0 ? { error: { status: 503 } } : { streamError: { status: 503, type: 'server_error' } },
        ],
        ['breaks the connection', { disconnect: true }],
      ])('%s', async (_fault, fault) => {
        faults = [[...begin, fault]];
        await client.send('What is the weather?');
        expect(await atTheEnd()).toEqual(repeated);
      });

      it('is killed and restarted', async () => {
        const hold = `${HOLD} ${(holds += 1)}`;
        faults = [[...begin, { hold }]];
        await client.send('What is the weather?');
        await model.reached(hold);
        if (moment === 'in a text') await client.saw('message.chunk');
        await modelProxy.disconnect();
        await modelProxy.restore();
        expect(await atTheEnd()).toEqual(repeated);
      });
    });

    it.each(byTier({ core: moments.slice(0, 1), all: moments }))(
      'fails if the model server hangs %s',
      async (_moment, begin) => {
        faults = [[...begin, { hang: true }]];
        await client.send('What is the weather?');
        expect(await atTheEnd()).toEqual(failed('model_timeout', {}));
      },
    );

    it('fails if the text breaks a second time', async () => {
      faults = [1, 2].map(() => [...words('This is '), { disconnect: true }]);
      await client.send('What is the weather?');
      expect(await atTheEnd()).toEqual(failed('model_unavailable', { asked: 2 }));
    });

    it('fails if the model server is unavailable for longer than a turn waits', async () => {
      await modelProxy.disconnect();
      await client.send('What is the weather?');
      const end = await atTheEnd();
      await modelProxy.restore();
      expect(end).toEqual(failed('model_unavailable', { asked: 0 }));
    });

    describe('reads the failure of the call, and is answered, if the tool server', () => {
      const read = (searches: number): AtTheEnd => ({
        ...UNBROKEN,
        searches,
        messages: [{ type: 'tool_status', state: 'failed' }, DONE],
      });

      it('breaks each connection after it has searched', async () => {
        tools.lostAnswers = [1, 2, 3].map(() => (response) => response.destroy());
        await client.send('What is the weather?');
        expect(await atTheEnd()).toEqual(read(3));
        expect(results).toEqual([expect.stringContaining(UNKNOWN)]);
      });

      it('answers 500 after it has searched', async () => {
        tools.lostAnswers = [(response) => void response.writeHead(500).end()];
        await client.send('What is the weather?');
        expect(await atTheEnd()).toEqual(read(1));
        expect(results).toEqual([expect.stringContaining(UNKNOWN)]);
      });

      it('hangs after it has searched', async () => {
        tools.lostAnswers = [() => undefined];
        await client.send('What is the weather?');
        expect(await atTheEnd()).toEqual(read(1));
        expect(results).toEqual([expect.stringContaining(`did not respond in time. ${UNKNOWN}`)]);
      });

      it('is unavailable when it is called', async () => {
        const end = await writeCall();
        await toolProxy.disconnect();
        end();
        const found = await atTheEnd();
        await toolProxy.restore();
        expect(found).toEqual(read(0));
        expect(results).toEqual([expect.stringContaining('could not be reached')]);
      });

      it('answers 503 when it is called', async () => {
        const end = await writeCall();
        tools.replacement = (_request, response) => void response.writeHead(503).end();
        end();
        expect(await atTheEnd()).toEqual(read(0));
        expect(results).toEqual([expect.not.stringContaining(UNKNOWN)]);
      });

      it('hangs when it is called', async () => {
        const end = await writeCall();
        tools.replacement = () => undefined;
        end();
        expect(await atTheEnd()).toEqual(read(0));
        expect(results).toEqual([expect.stringContaining(`did not respond in time. ${UNKNOWN}`)]);
      });
    });

    it('searches once if the connection to the runtime breaks after a commit has arrived and before it is acknowledged', async () => {
      const { workspaceId } = client;
      const ready = `SELECT address FROM runtimes WHERE workspace_id = $1 AND phase = 'Ready'`;
      const [runtime] = await eventually(() => services.query<{ address: string }>(ready, [workspaceId]), {
        until: ({ length }) => length > 0,
      });
      const proxy = await startFaultInjectionProxy(runtime!.address);
      const address = proxy.redirect(runtime!.address).replace(/\/$/, '');
      await services.query('UPDATE runtimes SET address = $2 WHERE workspace_id = $1', [workspaceId, address]);
      const end = await writeCall();
      const unlock = await services.lockTable('turn_entries');
      end();
      await services.untilBlocked();
      expect(proxy.loseAnswers()).toBe(1);
      await unlock();
      // The runtime calls a tool when its announcement is committed.
      await eventually(() => tools.queries.length > before.searches);
      await proxy.disconnect();
      await proxy.restore();
      expect(await atTheEnd()).toEqual(UNBROKEN);
      const generations = `SELECT generation FROM turns WHERE workspace_id = $1`;
      expect(await services.query(generations, [workspaceId])).toEqual([{ generation: 1 }]);
      await proxy.close();
    });

    it('searches again if the tool server is killed after it has searched, and restarted', async () => {
      const searching = Promise.withResolvers<void>();
      tools.lostAnswers = [() => searching.resolve()];
      await client.send('What is the weather?');
      await searching.promise;
      await toolProxy.disconnect();
      await toolProxy.restore();
      expect(await atTheEnd()).toEqual({ ...UNBROKEN, searches: 2 });
    });

    describe('is answered without the tool if the tool server, before the first model call,', () => {
      /** The end of a turn that calls a tool that was not offered, which has no line. */
      const withoutTool = { ...UNBROKEN, searches: 0, messages: [DONE] };

      it.each<[string, RequestListener]>([
        ['answers 500', (_request, response) => void response.writeHead(500).end()],
        ['answers 503', (_request, response) => void response.writeHead(503).end()],
        ['breaks each connection', (request) => request.destroy()],
        ['hangs', () => undefined],
      ])('%s', async (_fault, fault) => {
        tools.replacement = fault;
        await client.send('What is the weather?');
        expect(await atTheEnd()).toEqual(withoutTool);
        expect(offered()).not.toContain('web_search_tool');
      });

      it('is unavailable', async () => {
        await toolProxy.disconnect();
        await client.send('What is the weather?');
        const end = await atTheEnd();
        await toolProxy.restore();
        expect(end).toEqual(withoutTool);
        expect(offered()).not.toContain('web_search_tool');
      });
    });
  },
);
