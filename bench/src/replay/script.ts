import type { StatementTemplate } from './template.js';

/** Where messages go: one conversation, with what the floor cannot know by itself. */
export interface Place {
  /** Index of its owner. */
  user: number;
  userId: string;
  subject: string;
  workspaceId: string;
  conversationId: string;
  /** Who answers there. */
  agentId: string;
}

/** All that the floor needs to do the same work in the database. */
export interface FloorScript {
  databaseUrl: string;
  pool: number;
  /** By path with query: read requests, word by word as they were seen. */
  reads: Record<string, StatementTemplate[]>;
  send: StatementTemplate[];
  places: Place[];
}
