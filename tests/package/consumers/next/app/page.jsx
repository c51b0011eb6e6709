"use client";

import { createAttention } from "headwise";

import { Computing } from "./computing.jsx";

export default () => <Computing createAttention={createAttention} />;
