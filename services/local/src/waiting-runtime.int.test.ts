import { describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { MAIL_SENT, useCallFixture } from '../test/call-fixture.js';

describe('the runtime of a turn that waits for the user', () => {
  const calls = useCallFixture({}, { IDLE_SUSPEND_AFTER_S: '1' });

  it('invariant 7: is suspended although the orchestrator was killed before it could tell the runtime', async () => {
    await calls.user.permit('gmail', 'ask');
    const unlock = await calls.blockAfterArguments('tool_approvals');
    // A stopped runtime is told nothing.
    const runtime = await calls.services.runtimePid(calls.user.workspaceId);
    process.kill(runtime, 'SIGSTOP');
    await unlock();
    await calls.untilTurnWaits();
    await calls.kill('the orchestrator');
    process.kill(runtime, 'SIGCONT');
    await calls.recover();
    const runtimes = () => calls.ofWorkspace('SELECT desired FROM runtimes WHERE workspace_id = $1');
    const suspended = [{ desired: 'suspended' }];
    await eventually(runtimes, { until: ([row]) => (row as { desired: string } | undefined)?.desired === 'suspended' });
    expect(await runtimes()).toEqual(suspended);
    const processes = () => calls.ofWorkspace('SELECT pid FROM runtime_processes WHERE workspace_id = $1');
    expect(await eventually(processes, { until: ({ length }) => length === 0 })).toEqual([]);
    expect((await calls.user.choose(await calls.user.card(), 'approve')).status).toBe(200);
    expect(await calls.atTheEnd()).toEqual(MAIL_SENT);
  });
});
