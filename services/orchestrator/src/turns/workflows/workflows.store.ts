import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { TurnStatus } from '../../platform/database/schema.js';
import { type ListPosition, listPosition } from '../../records/list-cursor.js';
import type { TurnRow } from '../turns.store.js';
import type { StepStatus, WorkflowStatus } from './workflow-state.js';

export interface WorkflowRow {
  id: string;
  workspace_id: string;
  conversation_id: string;
  user_id: string;
  agent_id: string;
  /** The slug of the agent that started it. */
  agent_slug: string;
  /** Null if the user deleted it. */
  user_message_id: string | null;
  message_id: string;
  name: string;
  status: WorkflowStatus;
  created_at: Date;
  finished_at: Date | null;
}

export type ListedWorkflow = WorkflowRow & { position: ListPosition };

export interface StepRow {
  workflow_id: string;
  step_id: string;
  name: string;
  agent_id: string;
  agent_slug: string;
  task: string;
  after: string[];
  status: StepStatus;
  /** The first in the chain of continued turns that work on it. */
  turn_id: string | null;
  result: string | null;
  started_at: Date | null;
  finished_at: Date | null;
}

/** Omits the texts, which can be long. */
export type StepSummaryRow = Omit<StepRow, 'task' | 'result'>;

export interface StepTurn {
  id: string;
  stepId: string;
  status: TurnStatus;
  generation: number;
}

/** Deleted or replaced by the user. */
export interface Withdrawn {
  turnIds: readonly string[];
  messageIds: readonly string[];
}

export interface NewWorkflow {
  id: string;
  workspaceId: string;
  conversationId: string;
  agentId: string;
  turnId: string | null;
  userMessageId: string | null;
  messageId: string;
  name: string;
  createdAt: Date;
}

export type NewStep = Pick<StepRow, 'step_id' | 'name' | 'agent_id' | 'task' | 'after'>;

export type StepChange = Partial<Pick<StepRow, 'status' | 'turn_id' | 'result' | 'started_at' | 'finished_at'>>;

const WORKFLOW = [
  'w.id',
  'w.workspace_id',
  'w.conversation_id',
  'o.owner_id as user_id',
  'w.agent_id',
  'a.slug as agent_slug',
  'w.user_message_id',
  'w.message_id',
  'w.name',
  'w.status',
  'w.created_at',
  'w.finished_at',
] as const;

const STEP = [
  's.workflow_id',
  's.step_id',
  's.name',
  's.agent_id',
  'a.slug as agent_slug',
  's.after',
  's.status',
  's.turn_id',
  's.started_at',
  's.finished_at',
] as const;

const workflows = (db: Database) =>
  db
    .selectFrom('workflows as w')
    .innerJoin('workspaces as o', 'o.id', 'w.workspace_id')
    .innerJoin('agents as a', 'a.id', 'w.agent_id')
    .select(WORKFLOW);

const stepsOf = (db: Database, workflowIds: readonly string[]) =>
  db
    .selectFrom('workflow_steps as s')
    .innerJoin('agents as a', 'a.id', 's.agent_id')
    .select(STEP)
    .where('s.workflow_id', 'in', [...workflowIds])
    .orderBy('s.workflow_id')
    .orderBy('s.number');

/** Newest first. */
export function listWorkflows(
  db: Database,
  workspaceId: string,
  limit: number,
  after?: ListPosition,
): Promise<ListedWorkflow[]> {
  const query = workflows(db)
    .where('w.workspace_id', '=', workspaceId)
    .select(listPosition('w.created_at', 'w.id').as('position'))
    .orderBy('w.created_at', 'desc')
    .orderBy('w.id', 'desc')
    .limit(limit);
  if (after === undefined) return query.execute();
  return query.where(sql<boolean>`(w.created_at, w.id) < (${after.time}::timestamptz, ${after.key}::uuid)`).execute();
}

export function findWorkflow(db: Database, id: string): Promise<WorkflowRow | undefined> {
  return workflows(db).where('w.id', '=', id).executeTakeFirst();
}

/** In plan order. */
export function findWorkflowSteps(db: Database, workflowIds: readonly string[]): Promise<StepRow[]> {
  return workflowIds.length === 0
    ? Promise.resolve([])
    : stepsOf(db, workflowIds).select(['s.task', 's.result']).execute();
}

/** Like `steps`, for lists. */
export function findStepSummaries(db: Database, workflowIds: readonly string[]): Promise<StepSummaryRow[]> {
  return workflowIds.length === 0 ? Promise.resolve([]) : stepsOf(db, workflowIds).execute();
}

export async function countRunningWorkflows(db: Database, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('workflows')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('status', '=', 'running')
    .executeTakeFirstOrThrow();
  return count;
}

export function findStepOfTurn(
  db: Database,
  { usage_turn_id: firstTurnId }: Pick<TurnRow, 'usage_turn_id'>,
): Promise<{ workflowId: string; stepId: string } | undefined> {
  return db
    .selectFrom('workflow_steps')
    .select(['workflow_id as workflowId', 'step_id as stepId'])
    .where('turn_id', '=', firstTurnId)
    .executeTakeFirst();
}

/** For each running step, the last in the chain of continued turns that work on it. */
export async function findStepTurns(db: Database, workflowId: string): Promise<StepTurn[]> {
  const { rows } = await sql<StepTurn>`
    SELECT DISTINCT ON (s.number) t.id, s.step_id AS "stepId", t.status, t.generation
    FROM workflows w JOIN workflow_steps s ON s.workflow_id = w.id
    JOIN turns t ON t.reply_message_id = w.message_id AND coalesce(t.first_turn_id, t.id) = s.turn_id
    WHERE w.id = ${workflowId} AND s.status = 'running'
    ORDER BY s.number, t.id DESC`.execute(db);
  return rows;
}

export function findWorkflowShownBy(db: Database, messageId: string): Promise<WorkflowRow | undefined> {
  return workflows(db).where('w.message_id', '=', messageId).executeTakeFirst();
}

/** The workflow whose end a message tells. */
export function findWorkflowReportedBy(db: Database, messageId: string): Promise<WorkflowRow | undefined> {
  return workflows(db).where('w.report_message_id', '=', messageId).executeTakeFirst();
}

/** Running workflows that cannot continue without these turns and messages. */
export async function findWithdrawnWorkflows(
  db: Database,
  { turnIds, messageIds }: Withdrawn,
): Promise<Pick<WorkflowRow, 'id' | 'workspace_id'>[]> {
  const [turns, messages] = [sql`ANY(${[...turnIds]}::uuid[])`, sql`ANY(${[...messageIds]}::uuid[])`];
  const { rows } = await sql<Pick<WorkflowRow, 'id' | 'workspace_id'>>`
    SELECT id, workspace_id FROM workflows
    WHERE status = 'running' AND id IN (
      SELECT id FROM workflows WHERE turn_id = ${turns}
      UNION SELECT id FROM workflows WHERE message_id = ${messages}
      UNION SELECT id FROM workflows WHERE user_message_id = ${messages}
      UNION SELECT s.workflow_id FROM turns t JOIN workflow_steps s ON s.turn_id = coalesce(t.first_turn_id, t.id)
        WHERE t.id = ${turns} AND s.status = 'running'
    )
    ORDER BY id`.execute(db);
  return rows;
}

/** All steps start as pending. */
export async function insertWorkflow(
  db: Database,
  { id, workspaceId, conversationId, agentId, turnId, userMessageId, messageId, name, createdAt }: NewWorkflow,
  steps: readonly NewStep[],
): Promise<void> {
  await db
    .insertInto('workflows')
    .values({
      id,
      workspace_id: workspaceId,
      conversation_id: conversationId,
      agent_id: agentId,
      turn_id: turnId,
      user_message_id: userMessageId,
      message_id: messageId,
      name,
      created_at: createdAt,
    })
    .execute();
  await db
    .insertInto('workflow_steps')
    .values(steps.map((step, number) => ({ ...step, workflow_id: id, number })))
    .execute();
}

export async function updateWorkflowStep(
  db: Database,
  workflowId: string,
  stepId: string,
  change: StepChange,
): Promise<void> {
  await db
    .updateTable('workflow_steps')
    .set(change)
    .where('workflow_id', '=', workflowId)
    .where('step_id', '=', stepId)
    .execute();
}

export async function finishWorkflow(db: Database, id: string, status: WorkflowStatus, at: Date): Promise<void> {
  await db.updateTable('workflows').set({ status, finished_at: at }).where('id', '=', id).execute();
}

export async function setWorkflowReport(db: Database, id: string, messageId: string): Promise<void> {
  await db.updateTable('workflows').set({ report_message_id: messageId }).where('id', '=', id).execute();
}
