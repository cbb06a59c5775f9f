import { useEffect, useState, useSyncExternalStore } from 'react';
import { useLocation } from 'wouter';
import { useClient, useSession } from '../session/use-client.js';
import type { Document, Kind, Place } from './examples.js';

const SHOWN = 100;

/** The filtered calls and events, with the OpenAPI document that describes them. */
export function useRecorded() {
  const { recorder } = useSession();
  const { api } = useClient();
  const [screen] = useLocation();
  const all = useSyncExternalStore(recorder.subscribe, recorder.getSnapshot);
  const [kind, setKind] = useState<Kind>('all');
  const [place, setPlace] = useState<Place>('screen');
  const [document, setDocument] = useState<Document>();
  useEffect(() => {
    void api.get('/v1/openapi.json').then(
      (body) => setDocument(body as unknown as Document),
      () => undefined,
    );
  }, [api]);
  const shown = all
    .filter((one) => (kind === 'all' || one.kind === kind) && (place === 'page' || one.screen === screen))
    .slice(0, SHOWN);
  return { shown, document, clear: recorder.clear, kind, setKind, place, setPlace };
}
