import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { describeWith, type DocumentedStream, startDocumentedStream } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { messageNew, WORKSPACE } from '../test/envelopes.js';
import { startTestGateway, type TestGateway } from '../test/test-gateway.js';

describeWith('java', 'the Kotlin client of docs/native-clients.md', () => continuesAfterCuts('kotlin'));
describeWith('python', 'the Python client of docs/native-clients.md', () => continuesAfterCuts('python'));

function continuesAfterCuts(language: 'kotlin' | 'python'): void {
  let gateway: TestGateway;
  let network: FaultInjectionProxy;
  let client: DocumentedStream | undefined;
  beforeEach(async () => {
    gateway = await startTestGateway();
    network = await startFaultInjectionProxy(gateway.url);
  });
  afterEach(async () => {
    await client?.close();
    await network.close();
    await gateway.close();
  });

  it('has each event once after its connections were cut', async () => {
    const events: { event: string; payload: unknown }[] = [];
    const seqs = (): number[] =>
      events.flatMap(({ event, payload }) => (event === 'message.new' ? [(payload as { seq: number }).seq] : []));
    client = await startDocumentedStream({
      language,
      url: new URL(network.redirect(gateway.url)).origin,
      workspaceId: WORKSPACE,
      token: 't',
      onEvent: (event, payload) => void events.push({ event, payload }),
    });
    await eventually(() => events.some(({ event }) => event === 'workspace.subscribed'));
    for (let seq = 1; seq <= 6; seq += 2) {
      await gateway.publish(messageNew(seq));
      await eventually(() => seqs().includes(seq));
      await network.disconnect();
      await gateway.publish(messageNew(seq + 1));
      await network.restore();
      await eventually(() => seqs().includes(seq + 1));
    }
    expect(seqs()).toEqual([1, 2, 3, 4, 5, 6]);
  });
}
