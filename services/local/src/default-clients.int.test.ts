import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ModelServer } from '@uswarm/dev-servers';
import { describeWith, startPythonClient } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type SeenEvent, startTestClient, streamedText, type TestClient } from '@uswarm/testkit/test-client';
import { io } from 'socket.io-client';
import { startCountingModel } from '../test/counted-answer.js';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

/** A client with the default options of its library, which uses only events of the specification. */
interface DefaultClient {
  events: { name: string; payload: unknown }[];
  emit(event: string, payload: object): void;
  close(): Promise<void> | void;
}
type Start = (url: string, token: string) => Promise<DefaultClient>;

const CACHE = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');

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
      directory: join(CACHE, 'uswarm', 'python-socketio'),
      url,
      auth: { 'x-token': token },
      onEvent: (name, payload) => void events.push({ name, payload }),
    });
    return { ...client, events };
  },
};

/** Milliseconds of the outage beside the failed attempts; `npm run soak -- reconnect --away <seconds>` sets it. */
const AWAY_MS = Number(process.env['USWARM_SOAK_AWAY_S'] ?? 0) * 1_000;

describeWith('valkey', 'default clients of two languages', () => {
  describeWith('python-socketio', 'which know only the specification', () => {
    let model: ModelServer;
    let services: SeparateServices;
    /** Signs up the user and finds the workspace. */
    let user: TestClient;
    const clients: DefaultClient[] = [];

    beforeAll(async () => {
      model = await startCountingModel();
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

    const count = ({ events }: DefaultClient, name: string): number =>
      events.filter((event) => event.name === name).length;
    const subscribe = async (client: DefaultClient): Promise<void> => {
      const before = count(client, 'workspace.subscribed');
      client.emit('workspace.subscribe', { workspace_ids: [user.workspaceId] });
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
    const streamed = ({ events }: DefaultClient): string => {
      const chunks = events.filter(({ name }) => name === 'message.chunk') as SeenEvent[];
      return streamedText(chunks, String(chunks[0]?.payload['message_id']));
    };
    const send = (client: DefaultClient): void =>
      client.emit('message.send', {
        workspace_id: user.workspaceId,
        conversation_id: user.conversationId,
        local_id: randomUUID(),
        content: { type: 'text', text: 'Count to six' },
        mentions: [],
        attachments: [],
      });
    const handshakes = async (outcome: string): Promise<number> => {
      const text = await (await fetch(`${services.operations.gateway}/metrics`)).text();
      return Number(new RegExp(`handshakes_total{.*outcome="${outcome}".*} (\\d+)`).exec(text)?.[1]);
    };

    it.each(Object.keys(LIBRARIES))(
      '%s: reconnects by itself after its gateway was killed in the middle of an answer',
      async (library) => {
        const client = await connect(library);
        const hold = `middle-${model.requests.length}`;
        send(client);
        await model.reached(hold);
        await eventually(() => streamed(client).includes('three'));
        expect(count(client, 'message.send.ack')).toBe(1);
        const startAnother = await services.killGateway();
        await eventually(() => count(client, 'disconnect') === 1);
        await startAnother();
        await reconnected(client, 2);
        await subscribe(client);
        model.release(hold);
        await eventually(() => count(client, 'message.done') === 1);
      },
    );

    it('reconnect by themselves after the orchestrator was unavailable', async () => {
      const both = await Promise.all(Object.keys(LIBRARIES).map(connect));
      const startAnother = await services.killGateway();
      await services.orchestrators.at(-1)!.stop('SIGKILL');
      await startAnother();
      // The gateway waits for the orchestrator, and closes the transport of the client of JavaScript. That of Python does not wait.
      await eventually(async () => (await handshakes('failed')) >= 1 && (await handshakes('left')) >= 2);
      await sleep(AWAY_MS);
      await services.addOrchestrator({ atTheSamePorts: true });
      for (const client of both) {
        await reconnected(client, 2);
        await subscribe(client);
        expect(count(client, 'refused')).toBe(0);
      }
    });

    it.each(Object.keys(LIBRARIES))('%s: is refused immediately with a wrong token', async (library) => {
      const client = await LIBRARIES[library]!(services.socketUrl, 'nonsense');
      clients.push(client);
      await eventually(() => count(client, 'refused') === 1);
      expect(client.events.map(({ name }) => name)).toEqual(['refused']);
    });
  });
});
