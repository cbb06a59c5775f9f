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

export interface WorkflowStore {
  /** Newest first. */
  list(workspaceId: string, limit: number, after?: ListPosition): Promise<ListedWorkflow[]>;
  find(id: string, db?: Database): Promise<WorkflowRow | undefined>;
  /** In plan order. */
  steps(workflowIds: readonly string[], db?: Database): Promise<StepRow[]>;
  /** Like `steps`, for lists. */
  stepSummaries(workflowIds: readonly string[]): Promise<StepSummaryRow[]>;
  countRunning(workspaceId: string, db: Database): Promise<number>;
  ofTurn(
    turn: Pick<TurnRow, 'usage_turn_id'>,
    db: Database,
  ): Promise<{ workflowId: string; stepId: string } | undefined>;
  /** For each running step, the last in the chain of continued turns that work on it. */
  turnsOf(workflowId: string, db: Database): Promise<StepTurn[]>;
  shownBy(messageId: string): Promise<WorkflowRow | undefined>;
  /** The workflow whose end a message tells. */
  reportedBy(messageId: string): Promise<WorkflowRow | undefined>;
  /** Running workflows that cannot continue without these turns and messages. */
  runningWithout(gone: Withdrawn, db: Database): Promise<Pick<WorkflowRow, 'id' | 'workspace_id'>[]>;
  /** All steps start as pending. */
  insert(workflow: NewWorkflow, steps: readonly NewStep[], db: Database): Promise<void>;
  updateStep(workflowId: string, stepId: string, change: StepChange, db: Database): Promise<void>;
  finish(id: string, status: WorkflowStatus, at: Date, db: Database): Promise<void>;
  setReport(id: string, messageId: string, db: Database): Promise<void>;
}

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

export function createWorkflowStore(database: Database): WorkflowStore {
  const workflows = (db: Database = database) =>
    db
      .selectFrom('workflows as w')
      .innerJoin('workspaces as o', 'o.id', 'w.workspace_id')
      .innerJoin('agents as a', 'a.id', 'w.agent_id')
      .select(WORKFLOW);

  const stepsOf = (workflowIds: readonly string[], db: Database) =>
    db
      .selectFrom('workflow_steps as s')
      .innerJoin('agents as a', 'a.id', 's.agent_id')
      .select(STEP)
      .where('s.workflow_id', 'in', [...workflowIds])
      .orderBy('s.workflow_id')
      .orderBy('s.number');

  return {
    list(workspaceId, limit, after) {
      const query = workflows()
        .where('w.workspace_id', '=', workspaceId)
        .select(listPosition('w.created_at', 'w.id').as('position'))
        .orderBy('w.created_at', 'desc')
        .orderBy('w.id', 'desc')
        .limit(limit);
      if (after === undefined) return query.execute();
      return query
        .where(sql<boolean>`(w.created_at, w.id) < (${after.time}::timestamptz, ${after.key}::uuid)`)
        .execute();
    },

    find: (id, db) => workflows(db).where('w.id', '=', id).executeTakeFirst(),

    steps: (workflowIds, db = database) =>
      workflowIds.length === 0
        ? Promise.resolve([])
        : stepsOf(workflowIds, db).select(['s.task', 's.result']).execute(),

    stepSummaries: (workflowIds) =>
      workflowIds.length === 0 ? Promise.resolve([]) : stepsOf(workflowIds, database).execute(),

    async countRunning(workspaceId, db) {
      const { count } = await db
        .selectFrom('workflows')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('workspace_id', '=', workspaceId)
        .where('status', '=', 'running')
        .executeTakeFirstOrThrow();
      return count;
    },

    ofTurn: ({ usage_turn_id: firstTurnId }, db) =>
      db
        .selectFrom('workflow_steps')
        .select(['workflow_id as workflowId', 'step_id as stepId'])
        .where('turn_id', '=', firstTurnId)
        .executeTakeFirst(),

    async turnsOf(workflowId, db) {
      const { rows } = await sql<StepTurn>`
        SELECT DISTINCT ON (s.number) t.id, s.step_id AS "stepId", t.status, t.generation
        FROM workflows w JOIN workflow_steps s ON s.workflow_id = w.id
        JOIN turns t ON t.reply_message_id = w.message_id AND coalesce(t.first_turn_id, t.id) = s.turn_id
        WHERE w.id = ${workflowId} AND s.status = 'running'
        ORDER BY s.number, t.id DESC`.execute(db);
      return rows;
    },

    shownBy: (messageId) => workflows().where('w.message_id', '=', messageId).executeTakeFirst(),

    reportedBy: (messageId) => workflows().where('w.report_message_id', '=', messageId).executeTakeFirst(),

    async runningWithout({ turnIds, messageIds }, db) {
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
    },

    async insert(
      { id, workspaceId, conversationId, agentId, turnId, userMessageId, messageId, name, createdAt },
      steps,
      db,
    ) {
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
    },

    async updateStep(workflowId, stepId, change, db) {
      await db
        .updateTable('workflow_steps')
        .set(change)
        .where('workflow_id', '=', workflowId)
        .where('step_id', '=', stepId)
        .execute();
    },

    async finish(id, status, at, db) {
      await db.updateTable('workflows').set({ status, finished_at: at }).where('id', '=', id).execute();
    },

    async setReport(id, messageId, db) {
      await db.updateTable('workflows').set({ report_message_id: messageId }).where('id', '=', id).execute();
    },
  };
}
