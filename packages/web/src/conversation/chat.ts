import { createContext, useContext } from 'react';

/** Location of the shown messages. */
export interface Place {
  workspaceId: string;
  conversationId: string;
}
export const PlaceContext = createContext<Place>({ workspaceId: '', conversationId: '' });
export const usePlace = (): Place => useContext(PlaceContext);
