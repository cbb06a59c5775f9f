import { type BusEnvelope, type BusVersion, parseEnvelope, SessionEnd, UserEvent } from '@uswarm/contract';
import { toVersion1 } from './version-1.js';

/** Version 2 omits the workspace, which the channel names. Version 1 is undefined for envelopes that it cannot express. */
export function encodeEnvelope(envelope: BusEnvelope, version: 2): string;
export function encodeEnvelope(envelope: BusEnvelope, version: BusVersion): string | undefined;
export function encodeEnvelope(envelope: BusEnvelope, version: BusVersion): string | undefined {
  if (version === 1) return JSON.stringify(toVersion1(envelope));
  const { workspace_id: _channel, ...content } = envelope;
  return JSON.stringify(content);
}

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
