import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ADMIN_KEY, createTestAdmin, type TestAdmin } from '../../../test/admin-client.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { createTestTurnWorker, type TestTurnWorker } from '../../../test/turn-fixture.js';

const UNKNOWN_ID = '01890000-0000-7000-8000-00000000dead';
const SECRET = 'what only the user may read';

describe('turns.trace', () => {
  let uswarm: TestOrchestrator;
  let admin: TestAdmin;
  let turnWorker: TestTurnWorker;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { ADMIN_API_KEY: ADMIN_KEY } });
    admin = createTestAdmin(uswarm);
    turnWorker = createTestTurnWorker(uswarm.database);
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const newestTurn = () =>
    uswarm.database
      .selectFrom('turns')
      .select('id')
      .where('workspace_id', '=', home.workspaceId)
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow();

  it('shows the time line of a turn without what was written, and writes an audit entry', async () => {
    await user.post(home.messages, { content: { type: 'text', text: SECRET } }, 201);
    const { id } = await newestTurn();
    expect(await admin.call('turns.trace', { id })).toMatchObject({ turn_id: id, status: 'queued', steps: [] });
    const writer = await turnWorker.writerOf(await turnWorker.claim());
    await writer.begin();
    await writer.finish({
      turnStatus: 'failed',
      messageStatus: 'incomplete',
      text: SECRET,
      errorCode: 'runtime_lost',
    });
    const trace = await admin.call('turns.trace', { id });
    expect(trace).toMatchObject({
      turn_id: id,
      workspace_id: home.workspaceId,
      agent: 'manager',
      status: 'failed',
      error_code: 'runtime_lost',
      truncated: false,
    });
    expect(trace.finished_at).not.toBeNull();
    expect(trace.steps.map(({ type }) => type)).toContain('text');
    expect(JSON.stringify(trace)).not.toContain(SECRET);
    const { entries } = await admin.call('audit.list', { user_id: await uswarm.idOf(user) });
    expect(entries).toContainEqual(
      expect.objectContaining({ actor: 'olivia', action: 'turns.trace', subject_id: id, details: {} }),
    );
  });

  it('finds the newest turn of a workspace', async () => {
    await user.post(home.messages, { content: { type: 'text', text: 'again' } }, 201);
    const { id } = await newestTurn();
    expect(await admin.call('turns.trace', { id: home.workspaceId })).toMatchObject({ turn_id: id });
  });

  it('returns turn_not_found for an unknown id', async () => {
    expect(await admin.refusal('turns.trace', { id: UNKNOWN_ID })).toBe('turn_not_found');
  });
});
