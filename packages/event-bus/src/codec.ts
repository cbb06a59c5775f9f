import { type BusEnvelope, type BusVersion, parseEnvelope, SessionEnd, UserEvent } from '@uswarm/contract';

const ENCODERS: Readonly<Record<BusVersion, (envelope: BusEnvelope) => object>> = {
  /** Omits the workspace, which the channel names. */
  2({ workspace_id: _channel, ...content }) {
    return content;
  },
};

export const encodeEnvelope = (envelope: BusEnvelope, version: BusVersion): string =>
  JSON.stringify(ENCODERS[version](envelope));

/** Returns `undefined` for anything but an envelope of this workspace: every transport client can write to it. */
export function decodeEnvelope(text: string, workspaceId: string): BusEnvelope | undefined {
  try {
    const envelope = parseEnvelope({ workspace_id: workspaceId, ...(JSON.parse(text) as object) });
    return envelope.workspace_id === workspaceId ? envelope : undefined;
  } catch {
    return undefined;
  }
}

const MAX_SIGNAL_LENGTH = 200;

/** A signal is its topic. Undefined for anything longer. */
export const decodeSignal = (text: string): string | undefined => (text.length <= MAX_SIGNAL_LENGTH ? text : undefined);

export function encodeSessionEnd(end: SessionEnd): string {
  return JSON.stringify(end);
}

/** Omits `code`: release 0.2 rejects unknown fields. */
export function encodeSessionEndOf02({ code: _code, ...end }: SessionEnd): string {
  return JSON.stringify(end);
}

export function decodeSessionEnd(text: string): SessionEnd | undefined {
  try {
    return SessionEnd.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function decodeUserEvent(text: string): UserEvent | undefined {
  try {
    return UserEvent.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
