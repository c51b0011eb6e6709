export const TEST_MILLISECONDS: number;
export const WAIT_MILLISECONDS: number;
