import { randomUUID } from 'node:crypto';
import {
  ApiError,
  type DevicePositionsBody,
  PositionReport,
  safeParseRequest,
  validationError,
} from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { z } from 'zod';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Timers } from '../../timers.js';
import type { ClientEventHandler } from '../connection/dispatch.js';

type DevicePosition = z.output<typeof DevicePositionsBody>['positions'][number];

export interface PositionReportsDeps {
  orchestrator: Pick<OrchestratorClient, 'devicePositions'>;
  timers: Timers;
  logger: Pick<Logger, 'debug'>;
  /** Milliseconds between two requests. */
  everyMs: number;
}

/** Forwards what devices have applied, until it is stored: a device that has nothing newer does not report again. */
export interface PositionReports {
  add(position: DevicePosition): void;
  close(): void;
}

const POSITIONS_PER_REQUEST = 1_000;
/** Positions that wait for a request. */
const POSITIONS = 50_000;

export function createPositionReports({ orchestrator, timers, logger, everyMs }: PositionReportsDeps): PositionReports {
  let waiting = new Map<string, DevicePosition>();
  let cancel: (() => void) | undefined;

  async function forward(): Promise<void> {
    const positions = [...waiting.values()];
    waiting = new Map();
    for (let first = 0; first < positions.length; first += POSITIONS_PER_REQUEST) {
      const some = positions.slice(first, first + POSITIONS_PER_REQUEST);
      try {
        await orchestrator.devicePositions(some, randomUUID());
      } catch (error) {
        logger.debug({ err: error }, 'forwarding the positions of devices failed');
        if (isRefused(error)) continue;
        for (const position of positions.slice(first)) add(position);
        return;
      }
    }
  }

  function add(position: DevicePosition): void {
    const key = `${position.user_id} ${position.workspace_id} ${position.device_id}`;
    const earlier = waiting.get(key);
    if (earlier === undefined ? waiting.size >= POSITIONS : earlier.seq >= position.seq) return;
    waiting.set(key, position);
    cancel ??= timers.after(everyMs, () => {
      cancel = undefined;
      void forward();
    });
  }

  return { add, close: () => cancel?.() };
}

/** Another attempt would be refused too. */
const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status < 500;

export interface ReportPositionDeps {
  userId: string;
  /** Empty if the client sent none. */
  deviceId: string;
  reports: Pick<PositionReports, 'add'>;
  /** The last sequence that was sent to this socket; undefined for a workspace without a subscription. */
  cursor: (workspaceId: string) => number | undefined;
}

/** `position`: a device cannot have applied what was not sent to it. */
export function createReportPosition({ userId, deviceId, reports, cursor }: ReportPositionDeps): ClientEventHandler {
  return {
    async handle({ payload, acknowledge }) {
      const parsed = safeParseRequest(PositionReport, payload);
      if (!parsed.success) throw validationError(parsed.error);
      for (const [id, seq] of Object.entries(parsed.data)) {
        const sent = cursor(id);
        if (deviceId === '' || sent === undefined || seq > sent) continue;
        reports.add({ user_id: userId, device_id: deviceId, workspace_id: id.toLowerCase(), seq });
      }
      acknowledge({});
    },
    // No event reports this error, only the acknowledgement callback.
    refused: () => undefined,
  };
}
