import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ModelServer, type RunningValkey, startModelServer, startValkey, words } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { type BusProxy, startBusProxy } from '@uswarm/testkit/bus-proxy';
import { eventually } from '@uswarm/testkit/eventually';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { type SpecificationClient, startSpecificationClient } from '../test/specification-client.js';

describeWith('valkey', 'a connected client that knows only the specification, after the bus has lost events', () => {
  let directory: string;
  let valkey: RunningValkey;
  let bus: BusProxy;
  let model: ModelServer;
  let services: SeparateServices;
  let client: SpecificationClient;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uswarm-lost-events-'));
    valkey = await startValkey({ directory });
    bus = await startBusProxy(valkey.url, () => 0);
    model = await startModelServer({ script: () => words('Tea is at five.') });
    services = await startSeparateServices({ ...modelSettings(model), SUMMARY_WORKERS: '0' }, { redis: bus.url });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startSpecificationClient(services, token);
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
    await bus?.close();
    await valkey?.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('has each message of an answer that ended meanwhile, without a new connection', async () => {
    const conversation = await client.open();
    bus.drop(1);
    await client.send(conversation, 'When is tea?');
    const turns = () =>
      services.query<{ status: string }>('SELECT status FROM turns WHERE workspace_id = $1', [client.workspaceId]);
    await eventually(turns, { until: ([turn]) => turn?.status === 'done' });
    // A gateway can have repaired the beginning by now.
    expect(client.shown(conversation)).not.toEqual(await client.listed(conversation));
    bus.heal();
    await eventually(() => client.shown(conversation), { until: ({ length }) => length === 2, timeoutMs: 20_000 });
    expect(client.shown(conversation)).toEqual(await client.listed(conversation));
    expect(client.connects).toBe(1);
  });
});
