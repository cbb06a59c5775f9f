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

describe('the names of a UserSwarm', () => {
  it('contain the workspace id and can be parsed', () => {
    expect(userSwarmName(WORKSPACE_ID)).toBe(`workspace-${WORKSPACE_ID}`);
    expect(workspaceIdOf(userSwarmName(WORKSPACE_ID))).toBe(WORKSPACE_ID);
  });

  it('are valid and short enough for all workspace ids', () => {
    expect(userSwarmName(WORKSPACE_ID)).toMatch(USERSWARM_NAME);
    expect(userSwarmName(WORKSPACE_ID).length).toBeLessThanOrEqual(USERSWARM_NAME_LENGTH);
  });

  it('leave exactly enough space for the Service name', () => {
    const longest = 'w'.repeat(USERSWARM_NAME_LENGTH);
    expect(childName(longest)).toBe(`agent-runtime-${longest}`);
    expect(childName(longest)).toHaveLength(LONGEST_SERVICE_NAME);
  });
});

describe('the name of a UserSwarm', () => {
  it('determines the URL of its Service', () => {
    expect(runtimeAddress('workspace-a', 'userswarms', 42_618)).toBe(
      'http://agent-runtime-workspace-a.userswarms.svc:42618',
    );
  });

  it('determines the selector of its pods and its separate Secret', () => {
    expect(runtimeSelector('workspace-a')).toEqual({
      'app.kubernetes.io/name': 'agent-runtime',
      'app.kubernetes.io/instance': 'workspace-a',
    });
    expect(ownEnvSecret('workspace-a')).toBe('workspace-a-env');
  });
});
