import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { cacheFolder, type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { describeWith, startPythonClient } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type SeenEvent, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { io } from 'socket.io-client';
import { durableEvents, finalTexts, positionOf, shownText } from '../test/default-client-events.js';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

/** A client with its library's default options, which uses only specified events, and `since`. */
interface DefaultClient {
  events: { name: string; payload: unknown }[];
  emit(event: string, payload: object): void;
  close(): Promise<void> | void;
}
type Start = (url: string, token: string) => Promise<DefaultClient>;

const LIBRARIES: Record<string, Start> = {
  'JavaScript (socket.io-client)': async (url, token) => {
    const events: DefaultClient['events'] = [];
    const record = (name: string) => (payload: unknown) => void events.push({ name, payload });
    const socket = io(`${url}/v1`, { forceNew: true, auth: { 'x-token': token } });
    socket.on('connect', record('connect') as never);
    socket.on('disconnect', record('disconnect'));
    socket.on('connect_error', (error) => socket.active || record('refused')(error.message));
    socket.onAny((name: string, payload: unknown) => void events.push({ name, payload }));
    return {
      events,
      emit: (event, payload) => void socket.emit(event, payload),
      close: () => void socket.disconnect(),
    };
  },
  'Python (python-socketio)': async (url, token) => {
    const events: DefaultClient['events'] = [];
    const client = await startPythonClient({
      directory: join(cacheFolder(), 'python-socketio'),
      url,
      auth: { 'x-token': token },
      onEvent: (name, payload) => void events.push({ name, payload }),
    });
    return { ...client, events };
  },
};

const ANSWER = 'one two three four five six';

/** Outage in milliseconds beside the failed attempts; `npm run soak -- reconnect --away <seconds>` sets it. */
const AWAY_MS = Number(process.env['USWARM_SOAK_AWAY_S'] ?? 0) * 1_000;

describeWith('valkey', 'default clients of two languages', () => {
  describeWith('python-socketio', 'which know only the specification', () => {
    let model: ModelServer;
    let services: SeparateServices;
    /** Signs up the user and finds the workspace. */
    let user: TestClient;
    const clients: DefaultClient[] = [];

    beforeAll(async () => {
      model = await startModelServer({
        script: (_request, index) => [
          ...words('one two three '),
          { hold: `middle-${index}` },
          ...words('four five '),
          { hold: `end-${index}` },
          ...words('six'),
          { usage: { prompt: 40, completion: 6 } },
        ],
      });
      services = await startSeparateServices({
        ...modelSettings(model),
        SUMMARY_WORKERS: '0',
      });
    });
    afterAll(async () => {
      await services?.close();
      await model?.close();
    });
    beforeEach(async () => {
      const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
      user = await startTestClient({ ...services, token });
      user.close();
    });
    afterEach(async () => {
      for (const client of clients.splice(0)) await client.close();
    });

    const seen = ({ events }: DefaultClient) => events as SeenEvent[];
    const count = ({ events }: DefaultClient, name: string): number =>
      events.filter((event) => event.name === name).length;
    /** Subscribes, from the last position that the client has seen if there is one. */
    const subscribe = async (client: DefaultClient): Promise<void> => {
      const before = count(client, 'workspace.subscribed');
      const position = positionOf(seen(client), user.workspaceId);
      const since = position === undefined ? {} : { since: { [user.workspaceId]: position } };
      client.emit('workspace.subscribe', { workspace_ids: [user.workspaceId], ...since });
      await eventually(() => count(client, 'workspace.subscribed') > before);
    };
    async function connect(library: string): Promise<DefaultClient> {
      const client = await LIBRARIES[library]!(services.socketUrl, user.token);
      clients.push(client);
      await eventually(() => count(client, 'connect') === 1);
      await subscribe(client);
      return client;
    }
    const reconnected = (client: DefaultClient, times: number): Promise<unknown> =>
      eventually(() => count(client, 'connect') >= times);
    const shown = (client: DefaultClient): string => shownText(seen(client), user.workspaceId);
    const send = (client: DefaultClient): void =>
      client.emit('message.send', {
        workspace_id: user.workspaceId,
        conversation_id: user.conversationId,
        local_id: randomUUID(),
        content: { type: 'text', text: 'Count to six' },
        mentions: [],
        attachments: [],
      });
    const createConversation = async (): Promise<void> => {
      const path = `/v1/workspaces/${user.workspaceId}/conversations`;
      expect((await user.api('POST', path, { type: 'swarm' })).status).toBe(201);
    };
    /** The client has received every event in the log since its first subscribe, once and in order. */
    async function hasEveryEvent(client: DefaultClient): Promise<void> {
      const { body } = await user.api('GET', `/v1/workspaces/${user.workspaceId}/events?since=0`);
      const log = (body as { data: { seq: number; event: string }[] }).data;
      await eventually(() => positionOf(seen(client), user.workspaceId), { until: (seq) => seq === log.at(-1)?.seq });
      const received = durableEvents(seen(client));
      const joined = received[0]!.seq - 1;
      expect(received).toEqual(log.filter(({ seq }) => seq > joined).map(({ seq, event }) => ({ seq, event })));
    }
    const handshakes = async (outcome: string): Promise<number> => {
      const text = await (await fetch(`${services.operations.gateway}/metrics`)).text();
      return Number(new RegExp(`handshakes_total{.*outcome="${outcome}".*} (\\d+)`).exec(text)?.[1]);
    };

    const ENDS = ['after the client is back', 'while the client is disconnected'] as const;
    it.each(Object.keys(LIBRARIES).flatMap((library) => ENDS.map((end) => [library, end] as const)))(
      '%s: reconnects after its gateway was killed, and has each event once and the whole answer if it ends %s',
      async (library, end) => {
        const client = await connect(library);
        const [middle, ending] = [`middle-${model.requests.length}`, `end-${model.requests.length}`];
        send(client);
        await model.reached(middle);
        await eventually(() => shown(client).includes('three'));
        expect(count(client, 'message.send.ack')).toBe(1);
        const startAnother = await services.killGateway();
        await eventually(() => count(client, 'disconnect') === 1);
        await createConversation();
        if (end === 'while the client is disconnected') {
          model.release(middle);
          model.release(ending);
          const running = 'SELECT FROM turns WHERE workspace_id = $1 AND status IN ($2, $3)';
          const unfinished = () => services.query(running, [user.workspaceId, 'queued', 'running']);
          await eventually(unfinished, { until: ({ length }) => length === 0 });
        }
        await startAnother();
        await reconnected(client, 2);
        await subscribe(client);
        if (end === 'after the client is back') {
          model.release(middle);
          await eventually(() => shown(client), { until: (text) => text === 'one two three four five ' });
          model.release(ending);
        }
        await eventually(() => count(client, 'message.done') === 1);
        expect(finalTexts(seen(client))).toEqual([ANSWER]);
        await hasEveryEvent(client);
      },
    );

    it('reconnect by themselves after the orchestrator was unavailable', async () => {
      const both = await Promise.all(Object.keys(LIBRARIES).map(connect));
      const startAnother = await services.killGateway();
      await services.orchestrators.at(-1)!.stop('SIGKILL');
      await startAnother();
      // The gateway waits for the orchestrator, and closes the JavaScript client's transport. The Python client does
      // not wait.
      await eventually(async () => (await handshakes('failed')) >= 1 && (await handshakes('left')) >= 2);
      await sleep(AWAY_MS);
      await services.addOrchestrator({ atTheSamePorts: true });
      for (const client of both) {
        await reconnected(client, 2);
        await createConversation();
        await subscribe(client);
        expect(count(client, 'refused')).toBe(0);
      }
      for (const client of both) await hasEveryEvent(client);
    });

    it.each(Object.keys(LIBRARIES))('%s: is refused immediately with a wrong token', async (library) => {
      const client = await LIBRARIES[library]!(services.socketUrl, 'nonsense');
      clients.push(client);
      await eventually(() => count(client, 'refused') === 1);
      expect(client.events.map(({ name }) => name)).toEqual(['refused']);
    });
  });
});
