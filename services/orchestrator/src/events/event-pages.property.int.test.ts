import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { readPages } from '../../test/event-pages.js';
import { MergingClient, type Received, shownMessage } from '../../test/revisions/merging-client.js';
import { SpecificationFold } from '../../test/revisions/specification-fold.js';
import { WorkspaceWriter, writes } from '../../test/revisions/workspace-writer.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

const RUNS = byTier({ core: 10, all: 25 });
const TIMEOUT_MS = 300_000;
const byId = (messages: readonly MessageData[]) =>
  Object.fromEntries(messages.map((one) => [one.id, shownMessage(one)]));
const PAGE_BYTES = fc.constantFrom(1, 2_500, 8_000, 262_144);

describe('pages of the event log, which a gateway reads after any number of writes', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { RATE_IP_PER_S: '0', RATE_USER_PER_S: '0', RATE_SENDS_PER_S: '0' },
    });
  });
  afterAll(() => uswarm.close());

  const start = async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const writer = new WorkspaceWriter({ uswarm, user, home });
    const pages = async (after: number, maxBytes: number) =>
      (await readPages(uswarm, { workspaceId: home.workspaceId, after, maxBytes })).flat();
    return { writer, pages };
  };

  it(
    'let a client that adds objects only when they are created show what the last response shows',
    () =>
      fc.assert(
        fc.asyncProperty(writes, PAGE_BYTES, async (schedule, maxBytes) => {
          const { writer, pages } = await start();
          const client = new SpecificationFold(await writer.conversations());
          let position = 0;
          for (const [index, write] of schedule.entries()) {
            await writer.write(write);
            if (write.pick % 4 !== 0 && index < schedule.length - 1) continue;
            const events = await pages(position, maxBytes);
            client.receive(events);
            position = events.at(-1)?.seq ?? position;
          }
          expect(byId(client.messages)).toEqual(byId(await writer.messages()));
          expect(client.conversationIds).toEqual((await writer.conversations()).map(({ id }) => id).toSorted());
        }),
        { numRuns: RUNS },
      ),
    TIMEOUT_MS,
  );

  it(
    'let a client that merges by revision show what the last response shows, whenever earlier responses arrive',
    () =>
      fc.assert(
        fc.asyncProperty(writes, PAGE_BYTES, fc.infiniteStream(fc.nat()), async (schedule, maxBytes, numbers) => {
          const { writer, pages } = await start();
          const responses: Received[] = await writer.objects();
          for (const write of schedule) {
            await writer.write(write);
            responses.push(...(await writer.objects()));
          }
          const client = new MergingClient();
          const receiveSome = (count: number): void => {
            for (const one of responses.splice(0, count)) client.receive(one);
          };
          for (const event of await pages(0, maxBytes)) {
            receiveSome((numbers.next().value as number) % 6);
            if (!('skip' in event)) client.receive(event);
          }
          receiveSome(responses.length);
          expect(client.shown()).toEqual(await writer.shown());
        }),
        { numRuns: RUNS },
      ),
    TIMEOUT_MS,
  );
});
