import { ApiError } from '@uswarm/contract';
import type { UserActor } from '../accounts/auth/actor.js';
import type { WorkspaceService } from '../workspaces/workspaces.service.js';

/**
 * The workspace that a request of a program is about.
 *
 * @param wanted default: the user's first workspace that the token reaches
 * @throws ApiError `workspace_not_found`
 */
export type ReachedWorkspace = (actor: UserActor, wanted: string | undefined) => Promise<string>;

export function createReachedWorkspace(workspaces: Pick<WorkspaceService, 'list'>): ReachedWorkspace {
  return async ({ userId, access }, wanted) => {
    const reached = await workspaces.list(userId, access);
    const found = wanted === undefined ? reached[0] : reached.find(({ id }) => id === wanted);
    if (found === undefined) throw new ApiError('workspace_not_found');
    return found.id;
  };
}
