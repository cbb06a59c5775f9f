import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { sql } from 'kysely';
import { statementsOf } from '../../../test/query-plans.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import { createTurnProgress, type Progress, type ReplyTexts } from './turn-progress.store.js';
import { readStreams } from './turn-streams.js';
import type { TurnWriter } from '../writer/turn-writes.js';

const PROGRESS: Progress = { generation: 1, appliedEvent: 4, resumeFrom: 3, chunkSeq: 2, announcedStep: 1 };
const TEXTS = { text: 'Hello', received: 'Hello' };
const SAVED = { stopRequested: false };

describe('the progress of a turn', () => {
  const world = useTurnFixture();
  let work: LeasedJob;
  let writer: TurnWriter;
  let question: string;
  beforeEach(async () => {
    const sent = await world.user.post(world.home.messages, { content: { type: 'text', text: 'go' } }, 201);
    question = (sent.body as { data: MessageData }).data.id;
    work = await world.turnWorker.claim();
    writer = await world.turnWorker.writerOf(work);
  });
  const store = () => createTurnProgress(world.uswarm.database);
  const save = (...[job, progress, texts]: [LeasedJob, Progress, ReplyTexts | undefined]) =>
    store().save(job, progress, texts, world.uswarm.database);
  const streams = () => readStreams([world.home.workspaceId], world.uswarm.database);
  const track = (progress = PROGRESS) =>
    writer.track({
      current: () => ({ progress, texts: TEXTS, version: 1 }),
      saved: () => undefined,
      isEmpty: () => false,
    });

  it('keeps the text if only the event changes, and the received text if users see another one', async () => {
    await save(work, PROGRESS, { text: 'Hello', received: 'Hello\u0001' });
    await save(work, { ...PROGRESS, appliedEvent: 5, resumeFrom: 5 }, undefined);
    expect(await store().find(work.subjectId)).toEqual({
      ...PROGRESS,
      appliedEvent: 5,
      resumeFrom: 5,
      text: 'Hello',
      received: 'Hello\u0001',
    });
  });

  it('is not saved without the lease', async () => {
    await save({ ...work, leaseId: crypto.randomUUID() }, PROGRESS, TEXTS);
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

  describe('saved with the texts of other turns', () => {
    const texts = (text: string): ReplyTexts => ({ text, received: text });
    const claimOther = async (): Promise<LeasedJob> => {
      const user = await world.uswarm.user();
      const home = await world.uswarm.home(user);
      await user.post(home.messages, { content: { type: 'text', text: 'go' } }, 201);
      return world.turnWorker.claim();
    };

    it('needs one statement for all texts that wait while another one is saved', async () => {
      const jobs = [work, await claimOther(), await claimOther()];
      const statements = await statementsOf(world.uswarm.database, async (db) => {
        const progress = createTurnProgress(db);
        const saved = jobs.map((job) => progress.saveText(job, PROGRESS, texts(job.subjectId)));
        expect(await Promise.all(saved)).toEqual([SAVED, SAVED, SAVED]);
      });
      expect(statements).toHaveLength(2);
      for (const { subjectId } of jobs) {
        expect(await store().find(subjectId)).toEqual({ ...PROGRESS, ...texts(subjectId) });
      }
    });

    it('tells whether the turn must end', async () => {
      await sql`UPDATE turns SET stop_requested = true WHERE id = ${work.subjectId}`.execute(world.uswarm.database);
      const jobs = [await claimOther(), work];
      const progress = store();
      const saved = await Promise.all(jobs.map((job) => progress.saveText(job, PROGRESS, TEXTS)));
      expect(saved).toEqual([SAVED, { stopRequested: true }]);
    });

    it('is refused without the lease, and the others are saved', async () => {
      const progress = store();
      const [first, lost, last] = [await claimOther(), { ...work, leaseId: crypto.randomUUID() }, await claimOther()];
      const saved = [first, lost, last].map((job) => progress.saveText(job, PROGRESS, TEXTS));
      expect(await Promise.all(saved)).toEqual([SAVED, undefined, SAVED]);
      expect(await progress.find(work.subjectId)).toBeUndefined();
    });

    it('is refused while a transaction has locked the job, and does not wait', async () => {
      const progress = store();
      const { database } = world.uswarm;
      await database.transaction().execute(async (tx) => {
        await sql`SELECT FROM work WHERE subject_id = ${work.subjectId} FOR UPDATE`.execute(tx);
        expect(await progress.saveText(work, PROGRESS, TEXTS)).toBeUndefined();
      });
      expect(await progress.saveText(work, PROGRESS, TEXTS)).toEqual(SAVED);
    });
  });

  it('is the stream of the reply until the turn ends', async () => {
    const { replyId } = await writer.begin();
    track();
    expect(await streams()).toEqual({ streams: [], turnIds: [work.subjectId] });
    await writer.saveProgress();
    const stream = {
      workspace_id: world.home.workspaceId,
      message_id: replyId,
      conversation_id: world.home.conversationId,
      agent_id: world.home.agents[0]!.id,
      generation: 1,
      chunk_seq: 2,
      text: 'Hello',
      turn_id: work.subjectId,
      in_reply_to: question,
    };
    expect(await streams()).toEqual({ streams: [stream], turnIds: [work.subjectId] });
    await sql`UPDATE turns SET generation = 2 WHERE id = ${work.subjectId}`.execute(world.uswarm.database);
    expect(await streams()).toEqual({ streams: [], turnIds: [work.subjectId] });
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Hello', errorCode: null });
    expect(await store().find(work.subjectId)).toBeUndefined();
  });
});
