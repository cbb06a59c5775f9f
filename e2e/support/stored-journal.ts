import { NAMESPACE, RELEASE } from './fixtures.js';
import type { RuntimeUser } from './rolling-swarms.js';
import type { Session } from './session.js';

/** Runs a statement in the release's evaluation Postgres. @returns the answer's lines */
async function queryReleaseDatabase({ tools }: Session, query: string): Promise<string[]> {
  const psql = ['psql', '-h', '/var/run/postgresql', '-U', 'uswarm', '-d', 'uswarm', '-X', '-A', '-t', '-c', query];
  const pod = ['-n', NAMESPACE.release, `deployment/${RELEASE}-postgres`, '-c', 'postgres'];
  const { stdout } = await tools.kubectl(['exec', ...pod, '--', ...psql]);
  return stdout.split('\n').filter((line) => line !== '');
}

/** The entries in all journals of the user's workspace, as `<kind> <tool>`. */
export const storedJournal = (session: Session, { mobile }: RuntimeUser): Promise<string[]> =>
  queryReleaseDatabase(
    session,
    `SELECT concat_ws(' ', e.kind, e.call ->> 'tool') FROM turn_entries e JOIN turns t ON t.id = e.turn_id
    WHERE t.workspace_id = '${mobile.workspaceId}' ORDER BY t.id, e.number`,
  );
