import { type BusEnvelope, parseEnvelope } from '@uswarm/contract';

export function encodeEnvelope(envelope: BusEnvelope): string {
  return JSON.stringify(envelope);
}

/** `undefined` for anything that is not an envelope of this workspace: whoever reaches the transport can write to it. */
export function decodeEnvelope(text: string, workspaceId: string): BusEnvelope | undefined {
  try {
    const envelope = parseEnvelope(JSON.parse(text));
    return envelope.workspace_id === workspaceId ? envelope : undefined;
  } catch {
    return undefined;
  }
}
