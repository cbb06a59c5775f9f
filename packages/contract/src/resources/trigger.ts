import { z } from 'zod';
import { SchedulePause, TriggerRunStatus, TriggerStatus } from '../enums.js';
import { LIMITS } from '../limits.js';
import { pagination } from './message.js';
import { Id, STRICT, Timestamp } from './primitives.js';
import { newRunFields, nullableTokenLimit, PROMPT, runFields, ScheduleRun } from './schedule.js';

const { message_id, error_code, total_tokens, cost_micros, finished_at } = ScheduleRun.shape;

export const TriggerRun = z
  .strictObject({
    id: Id.meta({ description: 'The `run_id` that the other system got.' }),
    received_at: Timestamp.meta({ description: 'When the request arrived.' }),
    status: TriggerRunStatus.meta({ description: 'The outcome, or how far it is.' }),
    message_id,
    error_code,
    total_tokens,
    cost_micros,
    started_at: Timestamp.nullable().meta({ description: 'Null while it is queued.' }),
    finished_at,
  })
  .meta({ id: 'TriggerRun', description: 'One run of a trigger.' });
export type TriggerRun = z.output<typeof TriggerRun>;

export const Trigger = z
  .strictObject({
    id: Id.meta({ description: 'The trigger. Its messages have it as `trigger_id`.' }),
    title: z.string().meta({ description: 'For display. It names the conversation.' }),
    prompt: z.string().meta({ description: PROMPT }),
    agent_id: Id.meta({ description: 'The agent that runs it.' }),
    conversation_id: Id.nullable().meta({
      description: 'Where its runs are. Null before the first run, and after the conversation was deleted.',
    }),
    status: TriggerStatus.meta({ description: 'Whether it accepts requests.' }),
    paused_by: SchedulePause.nullable().meta({
      description: `Why it is paused: \`failures\` after ${LIMITS.scheduleFailures} failed runs in a row. Null unless it is paused.`,
    }),
    failures: z.int().nonnegative().meta({ description: 'Failed runs since the last completed one.' }),
    token_limit: nullableTokenLimit,
    is_signed: z.boolean().meta({ description: 'Whether requests must be signed.' }),
    last_run: TriggerRun.nullable().meta({ description: 'The latest run; null before the first one.' }),
    created_at: Timestamp.meta({ description: 'When it was created.' }),
    updated_at: Timestamp.meta({ description: 'When the user last changed it.' }),
  })
  .meta({ id: 'Trigger', description: 'What an agent does when another system sends a request.' });
export type Trigger = z.output<typeof Trigger>;

export const TriggerWithUrl = z
  .strictObject({
    ...Trigger.shape,
    url: z.string().meta({
      description:
        'Requests to this URL start runs. It contains a secret, and is not shown again. Without a public URL of the installation, it begins ' +
        'with the path.',
    }),
  })
  .meta({ id: 'TriggerWithUrl', description: 'A trigger with its new URL.' });
export type TriggerWithUrl = z.output<typeof TriggerWithUrl>;

export const TriggerPage = z
  .strictObject({ data: z.array(Trigger).meta({ description: 'Triggers, newest first.' }), pagination })
  .meta({ id: 'TriggerPage', description: 'A page of workspace triggers.' });
export type TriggerPage = z.output<typeof TriggerPage>;

export const CreateTriggerBody = z
  .strictObject(newRunFields)
  .meta({ id: 'CreateTriggerBody', description: `What a request starts. ${STRICT}` });
export type CreateTriggerBody = z.output<typeof CreateTriggerBody>;

export const UpdateTriggerBody = z
  .strictObject(runFields)
  .partial()
  .meta({ id: 'UpdateTriggerBody', description: `What changes. A field that is absent stays as it is. ${STRICT}` });
export type UpdateTriggerBody = z.output<typeof UpdateTriggerBody>;

export const SetTriggerSigningBody = z
  .strictObject({
    secret: z
      .string()
      .min(LIMITS.signingSecretMin)
      .max(LIMITS.signingSecretMax)
      .regex(
        /^(?!whsec_)[\x21-\x7e]+$|^whsec_[A-Za-z\d+/]{22,}={0,2}$/,
        'must be printable ASCII without spaces, or whsec_ and at least 16 bytes as base64',
      )
      .optional()
      .meta({ description: 'For a system that chooses the secret itself. Without it, a new one.' }),
  })
  .meta({ id: 'SetTriggerSigningBody', description: `The key of the signatures. ${STRICT}` });
export type SetTriggerSigningBody = z.output<typeof SetTriggerSigningBody>;

export const TriggerSigningSecret = z
  .strictObject({
    secret: z.string().meta({
      description:
        'Enter it in the other system. A secret of this server is `whsec_` and base64, as Standard Webhooks has it. It is not shown again.',
    }),
  })
  .meta({ id: 'TriggerSigningSecret', description: 'The key with which requests must be signed.' });
export type TriggerSigningSecret = z.output<typeof TriggerSigningSecret>;
