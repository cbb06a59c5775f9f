import {
  ApiError,
  MessageSend,
  reachesWorkspace,
  requireScope,
  safeParseRequest,
  type TokenAccess,
  validationError,
} from '@uswarm/contract';
import { inSpan } from '@uswarm/service-kit';
import { type CallOutcome, type GatewayMetrics, outcomeOf } from '../../metrics/gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Emit } from '../../server-events.js';
import type { ClientEventHandler } from '../connection/dispatch.js';

export interface SendMessageDeps {
  userId: string;
  access: TokenAccess | null;
  orchestrator: Pick<OrchestratorClient, 'send'>;
  emit: Emit;
  /** Holds a workspace's durable events for this socket. @returns ends it */
  holdEvents: (workspaceId: string) => () => void;
  metrics: Pick<GatewayMetrics, 'sendSeconds'>;
}

const MAX_LOCAL_ID = 128;

/** The `local_id` in an unvalidated payload; empty if it has none. */
function readLocalId(payload: unknown): string {
  if (typeof payload !== 'object' || payload === null || !('local_id' in payload)) return '';
  return typeof payload.local_id === 'string' ? payload.local_id.slice(0, MAX_LOCAL_ID) : '';
}

/** @throws ApiError whose message contains the invalid fields, because `message.send.error` has no other field for them */
function parse(payload: unknown): MessageSend {
  const parsed = safeParseRequest(MessageSend, payload);
  if (parsed.success) return parsed.data;
  const { message, extra } = validationError(parsed.error);
  const problems = parsed.error.issues.slice(0, 5).map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new ApiError('validation_failed', { message: `${message} ${problems.join('; ')}`, extra });
}

/**
 * `message.send`: the orchestrator stores the message, and the ack confirms it. The relay may be faster than the
 * response, so the workspace's events are held until the ack is sent: the sender receives the ack before its own
 * `message.new`. RT-003 RT-007 RT-008
 */
export function createSendMessage({
  userId,
  access,
  orchestrator,
  emit,
  holdEvents,
  metrics,
}: SendMessageDeps): ClientEventHandler {
  return {
    async handle({ payload, requestId, acknowledge }) {
      const endTimer = metrics.sendSeconds.startTimer();
      let outcome: CallOutcome = 'ok';
      let endHold: (() => void) | undefined;
      try {
        const message = parse(payload);
        requireScope(access, 'write');
        if (!reachesWorkspace(access, message.workspace_id)) throw new ApiError('workspace_not_found');
        endHold = holdEvents(message.workspace_id);
        // A new trace, which the orchestrator continues.
        const { message_id } = await inSpan('message.send', { client: {} }, () =>
          orchestrator.send(userId, message, requestId),
        );
        const ack = { local_id: message.local_id, message_id, status: 'received' } as const;
        emit('message.send.ack', ack);
        acknowledge(ack);
      } catch (error) {
        outcome = outcomeOf(error);
        throw error;
      } finally {
        endHold?.();
        endTimer({ outcome });
      }
    },
    refused({ message, code, extra }, payload) {
      const failure = new ApiError(code);
      emit('message.send.error', {
        local_id: readLocalId(payload),
        error: message,
        code,
        retryable: failure.retryable,
        request_id: extra?.request_id ?? '',
        ...(extra?.retry_after_ms !== undefined && { retry_after_ms: extra.retry_after_ms }),
        stored: failure.status < 500 || extra?.['stored'] === 'no' ? 'no' : 'unknown',
      });
    },
  };
}
