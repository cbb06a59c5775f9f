import type { StatementTemplate } from './template.js';

/** A conversation that receives messages, with the data that the floor needs. */
export interface Place {
  /** Owner's index. */
  user: number;
  userId: string;
  subject: string;
  workspaceId: string;
  conversationId: string;
  /** The conversation's agent. */
  agentId: string;
}

/** The statements that the floor replays. */
export interface FloorScript {
  databaseUrl: string;
  pool: number;
  /** Read request statements by path with query. */
  reads: Record<string, StatementTemplate[]>;
  send: StatementTemplate[];
  places: Place[];
}
