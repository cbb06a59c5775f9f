import type { Selectable } from 'kysely';
import type {
  AgentsTable,
  ConversationsTable,
  RuntimesTable,
  TranscriptionsTable,
  TurnsTable,
  UploadsTable,
} from './tables.js';

/** CHECK constraints in the migrations define the column values that these types name. */

export type RuntimeDesired = RuntimesTable['desired'];
export type InternalPhase = Selectable<RuntimesTable>['phase'];
export type AgentActivity = Selectable<AgentsTable>['activity'];
export type TitleSource = NonNullable<ConversationsTable['title_source']>;
export type TurnStatus = Selectable<TurnsTable>['status'];
export type TranscriptionProblem = NonNullable<TranscriptionsTable['problem']>;
export type UploadState = Selectable<UploadsTable>['state'];

const PHASES: Record<InternalPhase, true> = {
  Pending: true,
  Progressing: true,
  Ready: true,
  Suspended: true,
  Error: true,
  Deleting: true,
};
export const INTERNAL_PHASES = Object.keys(PHASES) as InternalPhase[];
