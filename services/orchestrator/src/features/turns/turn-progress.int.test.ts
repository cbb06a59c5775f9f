import { beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import type { LeasedJob } from '../../jobs/job-store.js';
import { createTurnProgressStore, type Progress } from './turn-progress.store.js';
import { readStreams } from './turn-streams.js';
import type { TurnWriter } from './turn-writes.js';

const PROGRESS: Progress = { generation: 1, appliedEvent: 4, resumeFrom: 3, chunkSeq: 2, announcedStep: 1 };
const TEXTS = { text: 'Hello', received: 'Hello' };

describe('the progress of a turn', () => {
  const world = useTurnFixture();
  let work: LeasedJob;
  let writer: TurnWriter;
  beforeEach(async () => {
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'go' } }, 201);
    work = await world.turnWorker.claim();
    writer = await world.turnWorker.writerOf(work);
  });
  const store = () => createTurnProgressStore(world.uswarm.database);
  const streams = () => readStreams([world.home.workspaceId], world.uswarm.database);
  /** Follows the reply of a runtime. */
  const track = (progress = PROGRESS) =>
    writer.track({ current: () => ({ progress, texts: TEXTS, version: 1 }), saved: () => undefined });

  it('keeps the text if only the event changes, and the received text if users see another one', async () => {
    await store().save(work, PROGRESS, { text: 'Hello', received: 'Hello\u0001' });
    await store().save(work, { ...PROGRESS, appliedEvent: 5, resumeFrom: 5 }, undefined);
    expect(await store().find(work.subjectId)).toEqual({
      ...PROGRESS,
      appliedEvent: 5,
      resumeFrom: 5,
      text: 'Hello',
      received: 'Hello\u0001',
    });
  });

  it('is not saved without the lease', async () => {
    await store().save({ ...work, leaseId: crypto.randomUUID() }, PROGRESS, TEXTS);
    expect(await store().find(work.subjectId)).toBeUndefined();
  });

  it('is committed with a complete event, and not with one that is not', async () => {
    await writer.begin();
    track();
    await writer.note('n', 'A note.');
    expect(await store().find(work.subjectId)).toBeUndefined();
    const line = { type: 'tool_status', tool: 't', description: 'd', state: 'running' } as const;
    await writer.tool({ callId: 'c', content: line });
    expect(await store().find(work.subjectId)).toEqual({ ...PROGRESS, ...TEXTS });
  });

  it('is the stream of the reply until the turn ends', async () => {
    const { replyId } = await writer.begin();
    track();
    expect(await streams()).toEqual([]);
    await writer.saveProgress();
    expect(await streams()).toEqual([
      {
        workspace_id: world.home.workspaceId,
        message_id: replyId,
        conversation_id: world.home.conversationId,
        agent_id: world.home.agents[0]!.id,
        generation: 1,
        chunk_seq: 2,
        text: 'Hello',
      },
    ]);
    await sql`UPDATE turns SET generation = 2 WHERE id = ${work.subjectId}`.execute(world.uswarm.database);
    expect(await streams()).toEqual([]);
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Hello', errorCode: null });
    expect(await store().find(work.subjectId)).toBeUndefined();
  });
});
