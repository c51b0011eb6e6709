"use client";

import { createAttention } from "headwise/worker";

import { Computing } from "../computing.jsx";

export default () => <Computing createAttention={createAttention} />;
