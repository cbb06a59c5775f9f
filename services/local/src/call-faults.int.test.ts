import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { shareByTier } from '@uswarm/testkit/tier';
import { EVENT_CREATED, INSERT, MAIL_SENT, mailUnknown, SEND, useCallFixture } from '../test/call-fixture.js';
import { KILLED, type Killed } from '../test/separate.js';

/** With these, no process is left that knows the call. */
const WITH_ORCHESTRATOR = KILLED.filter((killed) => killed !== 'the runtime');

/** In the core, each moment has one process. */
const killedAt = (moment: number): readonly Killed[] => shareByTier(KILLED, moment, KILLED.length);

describe('invariant 4: a call that changes another system', () => {
  const calls = useCallFixture();

  it.each(killedAt(0))('leaves once if a process is killed before the first model call: %s', async (killed) => {
    const unlock = await calls.services.lockAgents(calls.user.workspaceId);
    await calls.user.send(`Send ${calls.name}`);
    await calls.services.untilBlocked();
    await calls.kill(killed);
    await unlock();
    await calls.recover(killed);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it.each(killedAt(1))(
    'leaves once if a process is killed while the model writes its arguments: %s',
    async (killed) => {
      await calls.writeArguments();
      await calls.kill(killed);
      calls.endArguments();
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    },
  );

  it.each(killedAt(2))(
    'leaves once if a process is killed after its step and before the commit of it: %s',
    async (killed) => {
      const unlock = await calls.blockAfterArguments('turn_entries');
      await calls.kill(killed);
      await unlock();
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    },
  );

  it.each(killedAt(3))(
    'leaves once if a process is killed after its step is committed and before the runtime learns it: %s',
    async (killed) => {
      const unlock = await calls.blockAfterArguments('turn_entries');
      // A stopped runtime acknowledges nothing.
      const runtime = await calls.services.runtimePid(calls.user.workspaceId);
      process.kill(runtime, 'SIGSTOP');
      await unlock();
      await calls.untilCommitted();
      await calls.kill(killed);
      if (killed === 'the orchestrator') process.kill(runtime, 'SIGCONT');
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    },
  );

  it.each(killedAt(4))('leaves once if a process is killed before it is stored as sent: %s', async (killed) => {
    const unlock = await calls.blockAfterArguments('receipts');
    await calls.kill(killed);
    await unlock();
    await calls.recover(killed);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it.each(WITH_ORCHESTRATOR)(
    'leaves once if a process is killed after it is stored as sent and before its request arrives, as a mail: %s',
    async (killed) => {
      await calls.requestWithoutAnswer(SEND, 'stall');
      await calls.kill(killed);
      calls.servers.google.release();
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(mailUnknown(0));
      expect(calls.servers.results.at(-1)).toContain('It is not known whether this call was executed');
    },
  );

  it('leaves once if a process is killed after it is stored as sent and before its request arrives, as an event: the orchestrator', async () => {
    await calls.requestWithoutAnswer(INSERT, 'stall');
    await calls.kill('the orchestrator');
    calls.servers.google.release();
    await calls.recover();
    expect(await calls.atTheEnd()).toEqual(EVENT_CREATED);
  });

  it.each(killedAt(5))(
    'leaves once if a process is killed between its execution and the answer, as a mail that is found: %s',
    async (killed) => {
      await calls.requestWithoutAnswer(SEND);
      await calls.kill(killed);
      calls.servers.google.release();
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
      expect(calls.servers.results.at(-1)).toContain('Sent the mail');
    },
  );

  it('leaves once if a process is killed between its execution and the answer, as a mail that is not found: the orchestrator', async () => {
    calls.servers.google.mailbox.indexed = false;
    await calls.requestWithoutAnswer(SEND);
    await calls.kill('the orchestrator');
    calls.servers.google.release();
    await calls.recover();
    const end = await calls.atTheEnd();
    calls.servers.google.mailbox.indexed = true;
    expect(end).toEqual(mailUnknown(1));
    expect(calls.servers.results.at(-1)).toContain('It is not known whether this call was executed');
  });

  it.each(killedAt(6))(
    'leaves once if a process is killed between its execution and the answer, as an event with its key: %s',
    async (killed) => {
      await calls.requestWithoutAnswer(INSERT);
      await calls.kill(killed);
      calls.servers.google.release();
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(EVENT_CREATED);
      expect(calls.servers.results.at(-1)).toContain('Created the event');
    },
  );

  it.each(killedAt(7))(
    'leaves once if a process is killed between the answer and the commit of it: %s',
    async (killed) => {
      await calls.requestWithoutAnswer(SEND);
      const unlock = await calls.services.lockTable('tool_calls');
      calls.servers.google.release();
      await calls.services.untilBlocked();
      await calls.kill(killed);
      await unlock();
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
    },
  );
});

describe('a call whose processes are killed before its outcome is known', () => {
  const calls = useCallFixture({ modelGateway: true });
  const ends = {
    'is stopped': 'UPDATE turns SET stop_requested = true WHERE workspace_id = $1',
    'has reached its deadline': `UPDATE turns SET started_at = now() - interval '1 day' WHERE workspace_id = $1`,
  };

  it.each([
    ['is stopped', SEND, MAIL_SENT],
    ['is stopped', INSERT, EVENT_CREATED],
    ['has reached its deadline', SEND, MAIL_SENT],
    ['has reached its deadline', INSERT, EVENT_CREATED],
  ] as const)('is looked up although its turn %s: %s', async (end, method, expected) => {
    const requests = () => calls.servers.google.requests.filter((one) => one === method).length;
    const before = requests();
    await calls.requestWithoutAnswer(method);
    await calls.kill('both');
    calls.servers.google.release();
    await calls.ofWorkspace(ends[end]);
    await calls.recover();
    await calls.user.saw(
      'message.updated',
      ({ message: { content } }: { message: MessageData }) =>
        content.type === 'tool_status' && content.state === 'completed',
    );
    expect(await calls.state()).toEqual(expected);
    expect(requests() - before).toBe(1);
  });
});

describe('a call that waits for the user while a process is killed', () => {
  const calls = useCallFixture({ modelGateway: true });

  it.each(killedAt(8))('invariant 7: has no job, and leaves once after the decision: %s', async (killed) => {
    const card = await calls.ask();
    expect(await calls.ofWorkspace(`SELECT FROM work WHERE kind = 'turn' AND workspace_id = $1`)).toEqual([]);
    await calls.kill(killed);
    await calls.recover(killed);
    expect(calls.mails()).toBe(0);
    expect((await calls.user.choose(card, 'approve')).status).toBe(200);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it('invariant 5: does not leave for a choice that was not committed, which can be made again', async () => {
    const card = await calls.ask();
    const unlock = await calls.services.lockTable('turn_contexts');
    const lost = calls.user.choose(card, 'approve').catch(() => 'lost');
    await calls.services.untilBlocked();
    await calls.kill('the orchestrator');
    await unlock();
    expect(await lost).toBe('lost');
    await calls.recover();
    const approvals = 'SELECT status FROM tool_approvals WHERE card_message_id = $1';
    expect(await calls.services.query(approvals, [card.id])).toEqual([{ status: 'open' }]);
    expect(calls.mails()).toBe(0);
    expect((await calls.user.choose(card, 'approve')).status).toBe(200);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });

  it.each(killedAt(9))(
    'invariant 5: leaves once if a process is killed between the choice and the next turn: %s',
    async (killed) => {
      const card = await calls.ask();
      const unlock = await calls.approveAndBlock(card);
      await calls.kill(killed);
      await unlock();
      await calls.recover(killed);
      expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
      expect((await calls.user.choose(card, 'approve')).status).toBe(200);
      expect(calls.mails()).toBe(1);
    },
  );
});
