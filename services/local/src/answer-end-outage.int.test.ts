import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { type ModelServer, type RunningValkey, startModelServer, startValkey, words } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, streamedText, type TestClient } from '@uswarm/testkit/test-client';
import { finalTexts } from '../test/default-client-events.js';
import { modelSettings } from '../test/model-settings.js';
import { signalIfAlive } from '../test/processes.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const WORKING = ['reading', 'thinking', 'writing', 'pending'];

/** A device with the statuses that it shows, by agent; `until` is their end in monotonic milliseconds. */
interface Device extends TestClient {
  statuses: Map<string, { status: string; until: number }>;
}

describeWith('valkey', 'an answer that ends while Valkey is unavailable', () => {
  let directory: string;
  let valkey: RunningValkey;
  let model: ModelServer;
  let services: SeparateServices;
  const devices: Device[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uswarm-answer-end-'));
    valkey = await startValkey({ directory });
    model = await startModelServer({
      script: (_request, index) => [...words('one two three '), { hold: `end-${index}` }, ...words('four five six')],
    });
    services = await startSeparateServices({ ...modelSettings(model), SUMMARY_WORKERS: '0' }, { redis: valkey.url });
  });
  afterEach(() => {
    signalIfAlive(valkey.pid, 'SIGCONT');
    for (const device of devices.splice(0)) device.close();
  });
  afterAll(async () => {
    await services?.close();
    await model?.close();
    await valkey?.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function connect(token: string): Promise<Device> {
    const statuses: Device['statuses'] = new Map();
    const client = await startTestClient({ ...services, token });
    client.socket.on('agent.status', ({ agent_id: id, status, expires_in_ms: expiresInMs = Infinity }) =>
      statuses.set(id, { status, until: performance.now() + expiresInMs }),
    );
    const device = { ...client, statuses };
    devices.push(device);
    return device;
  }
  const working = ({ statuses }: Device): { status: string; until: number }[] =>
    [...statuses.values()].filter(({ status }) => WORKING.includes(status));
  const shownText = ({ events }: Device): string => {
    const chunk = events.find(({ name }) => name === 'message.chunk');
    return streamedText(events, String(chunk?.payload['message_id']));
  };

  const OUTAGES: Record<string, { begin(): unknown; end(): unknown }> = {
    'is killed and restarted': { begin: () => valkey.kill(), end: () => valkey.restart() },
    'hangs and continues': {
      begin: () => process.kill(valkey.pid, 'SIGSTOP'),
      end: () => process.kill(valkey.pid, 'SIGCONT'),
    },
  };
  it.each(Object.keys(OUTAGES))('reaches every device, and no agent stays working, if Valkey %s', async (outage) => {
    const { begin, end } = OUTAGES[outage]!;
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    const [phone, tablet] = [await connect(token), await connect(token)];
    const hold = `end-${model.requests.length}`;
    await phone.send('Count to six');
    await model.reached(hold);
    for (const device of [phone, tablet]) {
      await eventually(() => shownText(device).includes('three'));
      await eventually(() => working(device).some(({ status }) => status === 'writing'));
    }

    await begin();
    model.release(hold);
    const turns = () =>
      services.query<{ status: string }>('SELECT status FROM turns WHERE workspace_id = $1', [phone.workspaceId]);
    await eventually(turns, { until: ([turn]) => turn?.status === 'done' });
    for (const device of [phone, tablet]) {
      expect(device.events.filter(({ name }) => name === 'message.done')).toEqual([]);
      expect(working(device)).toHaveLength(1);
    }
    // The status would end by itself at this time.
    const expiry = Math.min(...[phone, tablet].flatMap(working).map(({ until }) => until));
    await end();

    for (const device of [phone, tablet]) {
      await device.saw('message.done');
      expect(finalTexts(device.events)).toEqual(['one two three four five six']);
      await eventually(() => working(device), { until: ({ length }) => length === 0 });
    }
    expect(performance.now()).toBeLessThan(expiry);
    const { payload } = await (await connect(token)).saw('workspace.subscribed');
    expect(payload['state']).toMatchObject({ [phone.workspaceId]: { agents: [], streams: [] } });
  });
});
