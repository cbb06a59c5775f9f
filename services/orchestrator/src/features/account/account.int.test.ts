import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestOrchestrator, type TestOrchestrator } from '../../testing/test-orchestrator.js';

describe('accounts', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  it('smoke', async () => {
    const user = await uswarm.user();
    const { body } = await user.get('/v1/workspaces', 200);
    expect(body['data']).toHaveLength(1);
    const workspace = body['data'][0]!;
    console.log(JSON.stringify(workspace));
    const agents = await user.get(`/v1/workspaces/${workspace['id']}/agents`, 200);
    console.log(JSON.stringify(agents.body));
    const conversations = await user.get(`/v1/workspaces/${workspace['id']}/conversations`, 200);
    const c = conversations.body['data'][0]!;
    const sent = await user.post(`/v1/workspaces/${workspace['id']}/conversations/${c['id']}/messages`, { content: { type: 'text', text: 'hi' }, local_id: 'a' }, 201);
    console.log(JSON.stringify(sent.body));
    const page = await user.get(`/v1/workspaces/${workspace['id']}/conversations/${c['id']}/messages`, 200);
    console.log(JSON.stringify(page.body));
    console.log(JSON.stringify((await user.get('/v1/users/profile', 200)).body));
    await user.delete('/v1/auth/delete', undefined, 204);
    console.log(JSON.stringify((await user.get('/v1/users/profile', 403)).body));
  });
});
