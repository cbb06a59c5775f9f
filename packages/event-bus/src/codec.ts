import { type BusEnvelope, parseEnvelope, SessionEnd } from '@uswarm/contract';

export function encodeEnvelope(envelope: BusEnvelope): string {
  return JSON.stringify(envelope);
}

/**
 * Returns `undefined` for anything that is not an envelope of this workspace: every client of the transport can write
 * to it.
 */
export function decodeEnvelope(text: string, workspaceId: string): BusEnvelope | undefined {
  try {
    const envelope = parseEnvelope(JSON.parse(text));
    return envelope.workspace_id === workspaceId ? envelope : undefined;
  } catch {
    return undefined;
  }
}

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
