import {
  ApiError,
  reachesWorkspace,
  requireScope,
  type RouteDefinition,
  type RouteSubject,
  subjectOf,
  type TokenAccess,
} from '@uswarm/contract';

type Route = Pick<RouteDefinition, 'scope' | 'reach' | 'params'>;

/** Returns the workspace of an object; undefined if the object does not exist. */
export type FindWorkspaceOf = (
  kind: Exclude<RouteSubject['kind'], 'workspace'>,
  id: string,
) => Promise<string | undefined>;

/**
 * Checks that an API token permits a request, by what the route table states. A route that states nothing is for ID
 * tokens only.
 *
 * @throws ApiError `token_not_permitted`, or the error for an object that does not exist
 */
export async function requireAccess(
  { access }: { access: TokenAccess | null },
  route: Route,
  params: Readonly<Record<string, string>>,
  findWorkspaceOf: FindWorkspaceOf,
): Promise<void> {
  if (access === null) return;
  const { scope = 'session', reach } = route;
  if (scope === 'session') throw new ApiError('token_not_permitted');
  requireScope(access, scope);
  if (access.workspace_ids === null || reach === 'any' || reach === 'listed') return;
  const subject = reach === undefined ? subjectOf(route) : undefined;
  const id = params[subject?.parameter ?? ''];
  if (subject === undefined || id === undefined) throw new ApiError('token_not_permitted');
  const workspaceId = subject.kind === 'workspace' ? id : await findWorkspaceOf(subject.kind, id);
  if (workspaceId === undefined || !reachesWorkspace(access, workspaceId)) throw new ApiError(subject.notFound);
}
