"""Handing an agent over to other libraries; each module needs the extra that its name says."""
