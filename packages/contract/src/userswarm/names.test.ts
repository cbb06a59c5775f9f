import { describe, expect, it } from '@jest/globals';
import {
  childName,
  ownEnvSecret,
  runtimeAddress,
  runtimeSelector,
  USERSWARM_NAME,
  USERSWARM_NAME_LENGTH,
  userSwarmName,
  workspaceIdOf,
} from './names.js';

const WORKSPACE_ID = '01998f1c-7a4e-7c3a-9f52-0d6c1b2a3e4f';
const LONGEST_SERVICE_NAME = 63;

describe('names of a UserSwarm', () => {
  it('are made of the workspace id, which can be read back', () => {
    expect(userSwarmName(WORKSPACE_ID)).toBe(`workspace-${WORKSPACE_ID}`);
    expect(workspaceIdOf(userSwarmName(WORKSPACE_ID))).toBe(WORKSPACE_ID);
  });

  it('are valid and short enough for every workspace id', () => {
    expect(userSwarmName(WORKSPACE_ID)).toMatch(USERSWARM_NAME);
    expect(userSwarmName(WORKSPACE_ID).length).toBeLessThanOrEqual(USERSWARM_NAME_LENGTH);
  });

  it('leave just enough room for the name of the Service', () => {
    const longest = 'w'.repeat(USERSWARM_NAME_LENGTH);
    expect(childName(longest)).toBe(`agent-runtime-${longest}`);
    expect(childName(longest)).toHaveLength(LONGEST_SERVICE_NAME);
  });
});

describe('what is derived from the name', () => {
  it('is the address, by the name of the Service', () => {
    expect(runtimeAddress('workspace-a', 'userswarms', 42_618)).toBe(
      'http://agent-runtime-workspace-a.userswarms.svc:42618',
    );
  });

  it('is the selector of its pods, the Secret of its own', () => {
    expect(runtimeSelector('workspace-a')).toEqual({
      'app.kubernetes.io/name': 'agent-runtime',
      'app.kubernetes.io/instance': 'workspace-a',
    });
    expect(ownEnvSecret('workspace-a')).toBe('workspace-a-env');
  });
});
