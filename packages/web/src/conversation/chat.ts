import { createContext, useContext } from 'react';

/** Where the shown messages belong. */
export interface Place {
  workspaceId: string;
  conversationId: string;
}
export const PlaceContext = createContext<Place>({ workspaceId: '', conversationId: '' });
export const usePlace = (): Place => useContext(PlaceContext);
