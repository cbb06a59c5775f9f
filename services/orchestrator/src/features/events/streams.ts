import type { StreamState } from '@uswarm/contract';
import type { Database } from '../../database/database.js';

export type WorkspaceStream = StreamState & { workspace_id: string };

/** Reads the beginnings of the replies that agents of these workspaces write. */
export type ReadStreams = (workspaceIds: readonly string[], db: Database) => Promise<WorkspaceStream[]>;

/** Texts of running turns are not stored: a gateway shows the part that it receives. */
export const readStreams: ReadStreams = async () => [];
