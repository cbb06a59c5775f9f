import { useWorkspaces } from '@uswarm/client/react';
import { Link } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';

export function WorkspacesScreen() {
  const workspaces = useWorkspaces(useClient());
  return (
    <>
      <h1>Workspaces</h1>
      <ul>
        {workspaces.map(({ id, name }) => (
          <li key={id}>
            <Link href={pages.workspace(id)}>{name}</Link>
          </li>
        ))}
      </ul>
    </>
  );
}
