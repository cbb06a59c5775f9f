/** The part of Expo's `fetch` that the example uses. */
export declare function fetch(url: string, init?: object): Promise<Response>;
